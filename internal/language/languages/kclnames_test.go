package languages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/languages"
)

// TestUndefinedInKCL checks that a misspelled name is found, and that no name of a correct program is.
// Names of correct programs resemble a defined name, so that a wrong guess would be an error.
func TestUndefinedInKCL(t *testing.T) {
	t.Parallel()
	const defined = "_deployment = 1\nnames = [1]\n"
	for _, tc := range []struct{ reason, source, want string }{
		{"a misspelled variable in a list", "items = [_deploymnt]\n", `main.k:3: "_deploymnt" is not defined, did you mean _deployment?`},
		{"a misspelled variable in a value of a key", "a = {\n  b.c = nmaes[0].d\n}\n", `main.k:4: "nmaes" is not defined, did you mean names?`},
		{"a misspelled variable in an interpolation of several lines", "a = \"\"\"x\n${b}${nmaes[0]}\"\"\"\nb = 1\n", `main.k:4: "nmaes" is not defined`},
		{"a misspelled variable in an interpolation of one line", "b = 1\na = \"${b}-${nmaes}\"\n", `main.k:4: "nmaes" is not defined`},
		{"a misspelled variable in a condition", "a = 1 if nmaes else 2\n", `"nmaes" is not defined`},
		{"a misspelled argument", "a = len(nmaes)\n", `"nmaes" is not defined`},
		{"a misspelled function", "f = lambda value {\n  value\n}\na = valeu(1)\n", `main.k:6: "valeu" is not defined, did you mean value?`},
		{"a misspelled parameter", "f = lambda value: {str:int}, other = {} -> {str:} {\n  valeu\n}\n", `main.k:4: "valeu" is not defined, did you mean value?`},
		{"a misspelled variable of a loop", "a = [nmae for name in names]\n", `"nmae" is not defined`},
		{"a misspelled variable that is unpacked", "a = {**_deploymnt}\n", `"_deploymnt" is not defined`},
		{"a misspelled package", "import .subnets\na = subnet.first()\n", `main.k:4: "subnet" is not defined, did you mean subnets?`},
		{"a misspelled variable after a schema", "schema A:\n  b: str\n\na = A {b = nmaes}\n", `main.k:6: "nmaes" is not defined`},
		{"a name that resembles no other may be a mistake of another kind", "a = [somethingElse]\n", ""},
		{"keys and targets", "a = {deployment = 1, nams: 2, \"namse\": 3, nmes += [4], name.b.c: 5, name_[0] = 6}\n_nams = namen = 1\nnamex: int = 1\n", ""},
		{"attributes", "a = _deployment.deployment?.name?.nams + names[0].namse\n", ""},
		{"parameters that are not used", "f = lambda nams, nmes: int, namez: {str:[int]} = {} -> {str:any} { 1 }\ng = lambda { 2 }\nh = lambda namex = str -> any {\n 1\n}\n", ""},
		{"variables of loops that are not used", "a = [1 for nams, nmes in names if names]\nb = {n: 1 for n, namez in names}\nc = all nam, namse in names { True }\nd = any name in names { True } and True\ne = map namex in names { 1 }\nf = filter namey in names { True }\n", ""},
		{"packages that are not used", "import nams\nimport a.namse as nmes # names\nimport .namex\n", ""},
		{"named arguments", "a = sorted(names, namse=True)\n", ""},
		{"schemas, whose attributes may be inherited", "import base\n@info(nams=\"x\")\nschema A[nmes: int](base.B):\n  \"\"\"${namez}\"\"\"\n  @deprecated(namex=\"1\")\n  mixin [base.Nams]\n  a?: str | \"b\" = namse\n  [...str]: int = nam\n  if name:\n    c = _nam\n  check:\n    len(namey) > 1 if nameq, \"x ${namew}\"\n\nmixin NamsMixin for A:\n  d = namer\n\nprotocol P:\n  names_: str\n\nrule R:\n  namet > 1\n", ""},
		{"functions, types and packages of KCL", "import base64\nlen_ = 1\nstrs = 2\nlist_ = 3\na: [any] = [len(names), str(1), 1Ki, 0x1F, base64.encode(\"\"), typeof(1), option(\"x\")]\nb: any = a as list\ntype Namse = int | str\n", ""},
		{"comments, raw strings, documentation and escaped interpolations", "# nams\n\"\"\"\nabout ${nmes}\n\"\"\"\na = r\"${namez}\" + \"$${namse} \\${namex} nam\"\n", ""},
		{"a continued line", "a = 1\nnams \\\n  = 2\nassert a \\\n  and names, \"x\"\n", ""},
		{"a name that is spelled as a keyword", "$filter = 1\na = $filter\nfilters = 2\n", ""},
		{"a name in a string may be a key", "a = {\"nams\": 1, b = nams}\n", ""},
		{"names that KCL sets", "__names = 1\na = __nams\n", ""},
	} {
		e2e.Equal(t, tc.reason, tc.want, checkKCL(t, map[string]string{"main.k": defined + tc.source}, tc.want))
	}
	const use = "items = [namse]\n"
	for reason, files := range map[string]map[string]string{
		"another file defines the name":                 {"main.k": defined + use, "b.k": "namse = 1\n"},
		"a profile may name other files":                {"kcl.mod": "[profile]\nentries = [\"../a.k\", \"main.k\"]\n", "main.k": defined + use},
		"the settings may name other files":             {"kcl.yaml": "kcl_cli_configs: {}\n", "main.k": defined + use},
		"files that KCL does not compile have no error": {"main.k": defined, "a_test.k": use, "_b.k": use},
	} {
		e2e.Equal(t, reason, "", checkKCL(t, files, ""))
	}
	dir := e2e.Dir(t, map[string]string{"main.k": defined + use})
	e2e.NoError(t, os.Symlink("elsewhere.k", filepath.Join(dir, "b.k")))
	e2e.NoError(t, languages.KCL().Check(t.Context(), language.Source{Dir: dir, Root: dir})) // The link may lead to the definition.
}

// checkKCL returns want if the error for the files of a package contains it, and the whole error otherwise.
func checkKCL(t *testing.T, files map[string]string, want string) string {
	t.Helper()
	dir := e2e.Dir(t, map[string]string{"kcl.mod": "[package]\n"})
	e2e.WriteFiles(t, dir, files)
	err := languages.KCL().CheckSource(t.Context(), language.Source{Dir: dir, Root: dir}, nil)
	switch {
	case err == nil:
		return ""
	case want != "" && strings.Contains(err.Error(), want):
		return want
	}
	return err.Error()
}
