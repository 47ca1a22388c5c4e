package languages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/languages"
)

// folder creates a directory with files of no content. A name that ends in "/" is a folder.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		e2e.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(name, "/") {
			continue
		}
		e2e.WriteFile(t, path, "")
	}
	return dir
}

func TestDetect(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  []string
		want   string
	}{
		"Go":        {"go.mod marks Go", []string{"go.mod", "main.go", "README.md"}, "go"},
		"GoFiles":   {"a package of a module above is Go", []string{"main.go"}, "go"},
		"Workspace": {"go.work marks Go, so that go build says which package it expects", []string{"go.work", "app/go.mod"}, "go"},
		"KCL":       {"kcl.mod marks KCL, before Go", []string{"go.mod", "kcl.mod", "main.k"}, "kcl"},
		"Templates": {"a folder that has only templates, hidden ones included, is go-templating", []string{"a.gotmpl", "b/.c.tmpl"}, "go-templating"},
		"README":    {"another file beside templates is an error, as in the crossplane CLI", []string{"a.gotmpl", "README.md"}, ""},
		"Folders":   {"folders without files are an error", []string{"a/b/"}, ""},
		"Unknown":   {"source of another language is an error that lists the marks", []string{"main.rb"}, ""},
		"NotFile":   {"a folder named go.mod does not mark Go", []string{"go.mod/a"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, tc.files...)
			l, err := languages.Detect(dir)
			e2e.Equal(t, tc.reason, tc.want, l.Name)
			e2e.Equal(t, tc.reason, tc.want != "", err == nil)
			if err != nil && (!strings.Contains(err.Error(), dir) || name != "README" && !strings.Contains(err.Error(), "go.mod, go.work or .go files (go)")) {
				t.Errorf("%s: got %v, want the folder and the marks in it", tc.reason, err)
			}
		})
	}
}

// TestLacks checks that the error for a folder that is almost the source of a language says what it
// lacks.
func TestLacks(t *testing.T) {
	for _, tc := range []struct {
		reason, source string
		files          []string
		want, hint     string
	}{
		{"an empty directory has no language", "", nil, "the directory is empty", "add the source of the function"},
		{"a hidden file is not source code", "", []string{".gitkeep"}, "the directory is empty", "or remove the directory"},
		{"templates have no other file beside them", "", []string{"a.gotmpl", "b/README.md"}, filepath.Join("b", "README.md") + " is not a template", "out of the folder of templates"},
		{"the templates of a package are in its folder function", "", []string{"README.md", "package/crossplane.yaml", "function/a.gotmpl", "function/README.md"}, filepath.Join("function", "README.md") + " is not a template", "move"},
		{"templates are not the source of a project in Python", "", []string{"pyproject.toml", "a.tmpl"}, "pyproject.toml is not a template", "move"},
		{"the folder of a project in Python is misspelled", "", []string{"pyproject.toml", "functions/fn.py"}, "pyproject.toml has no folder function", "rename the folder functions to function"},
		{"a project in Python has a folder", "", []string{"pyproject.toml", "fn.py"}, "pyproject.toml has no folder function", "main.py"},
		{"the first file of a package of npm has a standard name", "{}", []string{"lib/main.ts"}, `package.json: found no file in which the function starts, such as "src/main.ts"`, "dist/main.js for src/main.ts"},
		{"a manifest of npm names the first file", `{"main": "dist/app.js"}`, []string{"lib/app.ts"}, `such as "src/app.ts"`, `as "main" in package.json`},
	} {
		dir := folder(t, tc.files...)
		if tc.source != "" {
			e2e.WriteFile(t, filepath.Join(dir, "package.json"), tc.source)
		}
		_, _, err := languages.Find(dir)
		e2e.ErrorHas(t, tc.reason, err, tc.want)
		e2e.Has(t, tc.reason, string(hint.Of(err)), tc.hint)
	}
}

func TestByName(t *testing.T) {
	for _, l := range languages.All() {
		e2e.Equal(t, "a language is found by its name", l.Name, e2e.Must(languages.ByName(l.Name))(t).Name)
	}
	if _, err := languages.ByName("go1"); err == nil || hint.Of(err) != "did you mean go?" {
		t.Errorf("got %v with the hint %q", err, hint.Of(err))
	}
}

// TestCheckSource checks that mistakes in the source are found without a base image.
func TestCheckSource(t *testing.T) {
	t.Parallel()
	const lock = `{"lockfileVersion": 3, "packages": {"": {"dependencies": {"a": "1"}}, "node_modules/a": {"version": "1.0.0"}}}`
	python := func(script string, modules ...string) map[string]string {
		files := map[string]string{
			"pyproject.toml": "[build-system]\nbuild-backend = \"hatchling.build\"\n[project]\nname = \"function\"\nversion = \"1\"\n[project.scripts]\nfunction = \"" + script + "\"\n",
			"uv.lock":        "version = 1\n", "function/__init__.py": "", "function/main.py": "",
		}
		for _, name := range modules {
			files[name] = "x = 1\ndef f()\n"
		}
		return files
	}
	const prelude = "{{ $xr := .observed.composite.resource }}\n"
	for _, tc := range []struct {
		reason, language string
		files            map[string]string
		want             string
	}{
		{"an empty program composes nothing", "kcl", map[string]string{"kcl.mod": "[package]\n", "main.k": ""}, "main.k: the file is empty"},
		{"a module is in TOML", "kcl", map[string]string{"kcl.mod": "[package]\ngar bage = [\n", "main.k": "a = 1\n"}, "kcl.mod:2: expected '.' or '='"},
		{"a table has a known name", "kcl", map[string]string{"kcl.mod": "[pakage]\nname = \"a\"\n", "main.k": "a = 1\n"}, `kcl.mod:1: unknown table "pakage"`},
		{"a folder of a dependency exists", "kcl", map[string]string{"kcl.mod": "[dependencies]\nmodels = { path = \"./model\" }\n", "main.k": "a = 1\n"}, `kcl.mod:2: finding the folder "./model" of the dependency "models"`},
		{"dependencies may be elsewhere, and other tables unknown", "kcl", map[string]string{"kcl.mod": "[package]\n[other]\n[dependencies]\nk8s = \"1.31\"\na = { path = \"a\" }\n", "a/b.k": "", "main.k": "a = 1\n"}, ""},
		{"another file has the program", "kcl", map[string]string{"kcl.mod": "[package]\n", "a.k": "a = 1\n"}, ""},
		{"an unclosed bracket is found", "kcl", map[string]string{"kcl.mod": "[package]\n", "main.k": "a = {\n  b = [1\n}\n"}, "main.k:3: closing parenthesis '}' does not match opening parenthesis '[' on line 2"},
		{"the last unclosed bracket is found", "kcl", map[string]string{"kcl.mod": "[package]\n", "main.k": "a = {\n  b = [1]\n"}, "main.k:1: '{' was never closed"},
		{"an unclosed string is found", "kcl", map[string]string{"kcl.mod": "[package]\n", "main.k": "a = 1\nb = \"c\nd = 2\n"}, "main.k:2: unterminated string literal"},
		{"an operator needs a value", "kcl", map[string]string{"kcl.mod": "[package]\n", "a.k": "a = = 3\n"}, "a.k:1: expected a value after =, got ="},
		{"strings and comments may have any brackets", "kcl", map[string]string{"kcl.mod": "[package]\n", "main.k": kclProgram}, ""},
		{"files that KCL does not compile are not checked", "kcl", map[string]string{"kcl.mod": "[package]\n", "main.k": "a = 1\n", "a_test.k": "a = {", "_b.k": "a = {"}, ""},
		{"the program calls a module of its package", "python", python("function.mian:cli"), `pyproject.toml:7: the script function calls "function.mian:cli", but the package has no function/mian.py`},
		{"the program calls an existing module", "python", python("function.main:cli"), ""},
		{"the program calls a package", "python", python("function:cli"), ""},
		{"a module has the syntax of Python", "python", python("function.main:cli", "function/fn.py"), "function/fn.py:2: expected ':'"},
		{"a package inside has modules, too", "python", python("function.main:cli", "function/a/__init__.py", "function/a/b.py"), "function/a/__init__.py:2: expected ':'"},
		{"files that are not modules of the function are not checked", "python", python("function.main:cli", "tests/a.py", "function/tests/__init__.py", "function/data/a.py", "function/a-b.py", "function/a.py.tmpl"), ""},
		{"a module of another package may belong to a dependency", "python", python("other.main:cli"), ""},
		{"the syntax of an imported file is checked", "typescript", map[string]string{"package.json": `{"dependencies": {"a": "1"}}`, "package-lock.json": lock, "src/main.ts": "import './b.ts';\n", "src/b.ts": "\nconst x = = 3;\n"}, "src/b.ts:2:11: Unexpected \"=\""},
		{"a package that is used is a dependency", "typescript", map[string]string{"package.json": "{}", "package-lock.json": lock, "src/main.ts": "import 'a/b';\n"}, "src/main.ts imports a, which package-lock.json lists and package.json does not"},
		{"a variable of no template is a mistake in its file", "go-templating", map[string]string{"a.gotmpl": prelude, "b.gotmpl": "kind: A\nname: {{ $xt }}\n"}, "b.gotmpl:2: undefined variable \"$xt\""},
		{"an action that is not closed is a mistake", "go-templating", map[string]string{"a.gotmpl": prelude, "b.gotmpl": "name: {{ $xr }\n"}, "b.gotmpl:1: unexpected \"}\""},
		{"the files of a folder are one template, and functions depend on the version", "go-templating", map[string]string{"a.gotmpl": prelude, "b.gotmpl": "name: {{ newer $xr }}\n"}, ""},
		{"a template in other delimiters may have any text in the usual ones", "go-templating", map[string]string{"a.gotmpl": "[[ $xr := .observed ]]\n", "b.gotmpl": "summary: '{{ $labels.pod }} in [[ $xr ]]'\n"}, ""},
		{"a temporary file of an editor is not part of the image", "go-templating", map[string]string{"a.gotmpl": prelude, "b.gotmpl~": "{{ $xt }}\n"}, ""},
		{"modules of Node.js and other packages are not checked", "typescript", map[string]string{"package.json": `{"dependencies": {"a": "1"}}`, "package-lock.json": lock, "src/main.ts": "import 'fs';\nimport 'a';\nimport 'c';\nimport './none.js';\n"}, ""},
	} {
		dir := e2e.Dir(t, tc.files)
		l, err := languages.ByName(tc.language)
		e2e.NoError(t, err)
		if at, _, _ := strings.Cut(tc.want, " "); strings.HasSuffix(at, ":") {
			tc.want = ": " + filepath.Join(dir, tc.want) // A position has the path of the file.
		}
		err = l.CheckSource(t.Context(), language.Source{Dir: dir, Root: dir}, nil)
		e2e.WantError(t, tc.reason, err, tc.want)
	}
}

// TestUnused checks the warning about templates in the folder of a function in another language.
func TestUnused(t *testing.T) {
	for _, tc := range []struct {
		reason string
		files  map[string]string
		want   string
	}{
		{"KCL has no templates", map[string]string{"kcl.mod": "", "main.k": "a = 1\n", "a.gotmpl": "", "b.gotmpl": "", "c.yaml.tmpl": "", "d.gotmpl": "", ".git/a": "tmpl"}, "the function is in kcl, because it has kcl.mod, and does not use its templates: a.gotmpl, b.gotmpl, c.yaml.tmpl, 1 more"},
		{"Go has templates that it embeds only", map[string]string{"go.mod": "", "main.go": "package main\n", "a.gotmpl": ""}, "does not use its templates: a.gotmpl"},
		{"a program can embed templates", map[string]string{"go.mod": "", "main.go": "//go:embed *\nvar files embed.FS\n", "a.gotmpl": ""}, ""},
		{"a program can read templates by their ending", map[string]string{"kcl.mod": "", "lib/a.k": "a = file.glob(\"*.gotmpl\")\n", "a.gotmpl": ""}, ""},
		{"templates in folders are data of a program", map[string]string{"go.mod": "", "main.go": "package main\n", "templates/a.gotmpl": ""}, ""},
		{"templates of xfn xpkg init have another ending", map[string]string{"go.mod": "", "go.mod.tmpl": ""}, ""},
		{"a function may have only templates", map[string]string{"a.gotmpl": ""}, ""},
	} {
		dir := e2e.Dir(t, tc.files)
		l := e2e.Must(languages.Detect(dir))(t)
		if got := l.Unused(dir); got != tc.want && (tc.want == "" || !strings.HasSuffix(got, tc.want)) {
			t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
		}
	}
}

// kclProgram has brackets and quotes in strings and comments.
const kclProgram = `# It's {
a = "it's (" + 'a "[" \\' + "${b["x"]}" # }
b = r"\d{2,}\"" == ''
c = """
" { ' \""" = =
""" if a == "=" else '\''
d = lambda x: int -> {str:int} { {"x" = x} }
e: [int] = [*[1], 2]
assert len(e) <= 2 and a != "(", "= ="
`
