package xpkg_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/xpkg"
)

const (
	functionYAML = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: fn\nspec: {}\n"
	functionJSON = `{"apiVersion":"meta.pkg.crossplane.io/v1","kind":"Function","metadata":{"name":"fn"}}`
	crdYAML      = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: inputs.fn.test\nspec:\n" +
		"  group: fn.test\n  scope: Namespaced\n  names: {kind: Input, plural: inputs}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n" +
		"    schema:\n      openAPIV3Schema:\n        type: object\n"
)

func readDir(t *testing.T, dir string, opts xpkg.ReadOptions) (*xpkg.Package, error) {
	t.Helper()
	return xpkg.Read(t.Context(), afero.NewOsFs(), dir, opts)
}

func TestReadObjects(t *testing.T) {
	fsys := e2e.Memory(t, map[string]string{
		"package/crossplane.yaml": "# what it is\n\n" + functionYAML,
		"package/input/crd.yaml":  "---\n---\n# the input\n" + crdYAML,
		"package/notes.txt":       "not YAML: [",
	})
	got := e2e.Must(xpkg.Read(t.Context(), fsys, "package", xpkg.ReadOptions{}))(t)
	wantMeta := xpkg.Object{Path: filepath.Join("package", "crossplane.yaml"), Line: 3, APIVersion: "meta.pkg.crossplane.io/v1", Kind: "Function", Name: "fn"}
	e2e.Equal(t, "the metadata has the position of its object", wantMeta, got.Meta)
	want := []xpkg.Object{{Path: filepath.Join("package", "input", "crd.yaml"), Line: 4, APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "inputs.fn.test"}}
	e2e.Equal(t, "an object has the position after its comments", want, got.Objects)
	if got.Examples != nil {
		t.Errorf("got examples %q, want none", got.Examples)
	}
}

// Nested YAML can be many times as large as the file and its JSON. Read encodes it after the rules, which
// need both.
func TestReadEncodesLast(t *testing.T) {
	nested := "{type: string}"
	for range 100 {
		nested = "{type: object, properties: {a: " + nested + "}}"
	}
	files := map[string]string{"p/crossplane.yaml": functionYAML}
	for i := range 30 {
		files[fmt.Sprintf("p/%d.yaml", i)] = strings.ReplaceAll(crdYAML, "inputs", fmt.Sprintf("inputs%d", i)) + "        properties: {a: " + nested + "}\n"
	}
	fsys := e2e.Memory(t, files)
	alive := func() (bytes int) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before, during := alive(), 0
	pkg, err := xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{Rules: []xpkg.Rule{func(context.Context, []xpkg.Document) xpkg.Problems {
		during = alive()
		return nil
	}}})
	e2e.NoError(t, err)
	if during-before > len(pkg.YAML) {
		t.Errorf("the rules run with %d bytes in memory, want less than the %d bytes of package.yaml", during-before, len(pkg.YAML))
	}
}

// A block scalar at the end of a file without a final newline ends with a newline, as crossplane xpkg build
// v2.5 writes it.
func TestReadLastLine(t *testing.T) {
	const head = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata:\n  name: a\nspec:\n" +
		"  compositeTypeRef: {apiVersion: a/v1, kind: A}\n  mode: Pipeline\n  pipeline:\n  - step: a\n    functionRef: {name: f}\n    input:\n      a: "
	for text, want := range map[string]string{
		"|\n        b":             "|\n        b\n",
		"|\n        b\n":           "|\n        b\n",
		"|+\n        b":            "|\n        b\n",
		"|-\n        b":            "b\n",
		">\n        b\n        c":  "|\n        b c\n",
		"|\r\n        b\r\n      ": "|\n        b\n",
		"b":                        "b\n",
		"\"b\n        c\"":         "b c\n",
	} {
		dir := t.TempDir()
		e2e.WriteFile(t, filepath.Join(dir, "a.yaml"), head+text)
		e2e.WriteFile(t, filepath.Join(dir, "crossplane.yaml"), "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: a}\nspec: {}")
		pkg := e2e.Must(readDir(t, dir, xpkg.ReadOptions{Lint: xpkg.Warn}))(t)
		e2e.Has(t, fmt.Sprintf("package.yaml for %q", text), string(pkg.YAML), "    input:\n      a: "+want)
	}
}

// A key after a merge key may replace a merged value, so it is not a duplicate key.
func TestReadMergeKey(t *testing.T) {
	dir := t.TempDir()
	e2e.WriteFile(t, filepath.Join(dir, "crossplane.yaml"), "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: fn\n  labels: &l {a: b, c: d}\n  annotations:\n    <<: *l\n    c: e\nspec: {}\n")
	pkg := e2e.Must(readDir(t, dir, xpkg.ReadOptions{}))(t)
	e2e.Has(t, "the annotations", string(pkg.YAML), "  annotations:\n    a: b\n    c: e\n")
}

func TestReadRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   string
	}{
		"NoMetadata":     {"a package without metadata is refused", map[string]string{"crd.yaml": crdYAML}, `package root "p" contains no package metadata`},
		"EmptyMetadata":  {"an empty file has no metadata", map[string]string{"crossplane.yaml": "", "crd.yaml": crdYAML}, `package root "p" contains no package metadata: p/crossplane.yaml is empty`},
		"NoSeparator":    {"two objects without a line between them are one problem", map[string]string{"crossplane.yaml": crdYAML + functionYAML}, `p/crossplane.yaml:16: key "apiVersion" already set: a second object begins here, so the first would be lost`},
		"SevenMetadata":  {"five of many metadata objects are named", map[string]string{"a.yaml": strings.Repeat(functionYAML+"---\n", 7)}, "p/a.yaml:25 (Function fn), and 2 more"},
		"TwoMetadata":    {"two metadata objects are refused, and both are named", map[string]string{"a.yaml": functionYAML, "b.yaml": crdYAML + "---\n" + functionYAML}, "must contain one: p/a.yaml:1 (Function fn), p/b.yaml:17 (Function fn)"},
		"NotYAML":        {"a syntax error names the file and the line", map[string]string{"crossplane.yaml": functionYAML, "z.yaml": "a: 1\nb: [1\nc: }\n"}, "p/z.yaml:2: "},
		"Binary":         {"a binary file is refused", map[string]string{"crossplane.yaml": functionYAML, "z.yaml": "\x00\x01"}, "p/z.yaml:1: control characters"},
		"Control":        {"a character that YAML writers reject is refused before the rules run", map[string]string{"crossplane.yaml": functionYAML, "z.yaml": strings.Replace(crdYAML, "kind: Input", `kind: "\x80"`, 1)}, "p/z.yaml:1: encoding the object: decoding JSON: yaml: control characters are not allowed"},
		"UTF16":          {"UTF-16 is refused, because package.yaml joins many files", map[string]string{"crossplane.yaml": "\xff\xfea\x00:\x00 \x001\x00\n\x00"}, "p/crossplane.yaml:1: the file is UTF-16"},
		"UTF16Big":       {"big-endian UTF-16 is refused in examples", map[string]string{"crossplane.yaml": functionYAML, "ex/a.yaml": "\xfe\xff\x00a\x00:\x00 \x001\x00\n"}, "p/ex/a.yaml:1: the file is UTF-16"},
		"PathOfLines":    {"a path with a line break is quoted", map[string]string{"crossplane.yaml": functionYAML, "a\n::error::x.yaml": "kind: X\n"}, `"p/a\n::error::x.yaml":1: `},
		"UnknownKind":    {"an error about an object names its kind", map[string]string{"crossplane.yaml": functionYAML, "z.yaml": "\napiVersion: v1\nkind: Secret\n"}, "p/z.yaml:2: kind Secret of v1 cannot be in a package"},
		"NotAllowed":     {"a kind that this package kind cannot contain is refused", map[string]string{"crossplane.yaml": functionYAML, "z.yaml": "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec: {compositeTypeRef: {apiVersion: a, kind: b}}\n"}, "p/z.yaml:1: kind Composition of apiextensions.crossplane.io/v1 cannot be in a Function package"},
		"UnknownField":   {"an unknown field is refused", map[string]string{"crossplane.yaml": strings.Replace(functionYAML, "{}", "{dependOn: []}", 1)}, "p/crossplane.yaml:5: kind Function of meta.pkg.crossplane.io/v1 has no field spec.dependOn"},
		"Misspelt":       {"an unknown field of a list item is reported with its line", map[string]string{"crossplane.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn}\nspec:\n  dependsOn:\n  - function: registry.example.org/a\n    version: v1\n    vershun: v1\n"}, "p/crossplane.yaml:8: kind Function of meta.pkg.crossplane.io/v1 has no field spec.dependsOn[0].vershun"},
		"HiddenMisspelt": {"an unknown field is found in types with their own decoder", map[string]string{"crossplane.yaml": functionYAML, "crd.yaml": crdYAML + "        properties:\n          a:\n            type: array\n            items:\n              type: string\n              patern: x\n"}, "p/crd.yaml:21: kind CustomResourceDefinition of apiextensions.k8s.io/v1 has no field spec.versions[0].schema.openAPIV3Schema.properties.a.items.patern"},
		"Capital":        {"field names are case-sensitive", map[string]string{"crossplane.yaml": strings.Replace(functionYAML, "spec:", "Spec:", 1)}, "has no field Spec"},
		"TwiceTheKey":    {"a duplicate key is refused", map[string]string{"crossplane.yaml": functionYAML + "kind: Function\n"}, `p/crossplane.yaml:6: key "kind" already set`},
		"AfterEnd":       {"content after the end of a document is refused", map[string]string{"crossplane.yaml": functionYAML + "...\n" + crdYAML}, "p/crossplane.yaml:7: content after the end"},
		"EndFirst":       {"an end line before the object is a syntax error", map[string]string{"crossplane.yaml": functionYAML, "z.yaml": "# c\n...\n" + crdYAML}, "p/z.yaml:1: did not find expected node content"},
		"TwoJSON":        {"a second object on the next line is refused", map[string]string{"crossplane.yaml": functionJSON + "\n" + `{"a":"b"}`}, "content after the end"},
		"TwoAfterNote":   {"a second object after a comment and an object is refused", map[string]string{"crossplane.yaml": "# c\n" + functionJSON + "\n" + `{"a":"b"}`}, "content after the end"},
		"TwoTagged":      {"a second object after a tagged one is refused", map[string]string{"crossplane.yaml": "!!map " + functionJSON + "\n" + `{"a":"b"}`}, "content after the end"},
		"TwoIndented":    {"a less indented key after the object is refused", map[string]string{"crossplane.yaml": "  apiVersion: meta.pkg.crossplane.io/v1\n  kind: Function\n  metadata: {name: fn}\nspec: {}\n"}, "content after the end"},
		"TwoDirective":   {"a directive inside a document is refused", map[string]string{"crossplane.yaml": functionYAML + "%YAML 1.1\na: b\n"}, "content after the end"},
		"WrongType":      {"a wrong type is described in the terms of YAML", map[string]string{"crossplane.yaml": strings.Replace(functionYAML, "{}", "{dependsOn: yes}", 1)}, "p/crossplane.yaml:5: spec.dependsOn: expected a list, got a boolean"},
		"WrongLabel":     {"a number in octal notation is not a string", map[string]string{"crossplane.yaml": strings.Replace(functionYAML, "name: fn", "labels: {a: 012}", 1)}, "p/crossplane.yaml:4: metadata.labels.a: expected a string, got a number"},
		"NoVersion":      {"spec.crossplane requires a version constraint", map[string]string{"crossplane.yaml": strings.Replace(functionYAML, "{}", "{crossplane: {}}", 1)}, "p/crossplane.yaml:5: spec.crossplane.version is missing"},
		"NoAPIVersion":   {"an object without apiVersion is refused", map[string]string{"crossplane.yaml": "kind: Function\n"}, "p/crossplane.yaml:1: the object has no apiVersion"},
		"Example":        {"an example without kind is refused", map[string]string{"crossplane.yaml": functionYAML, "ex/a.yaml": "kind: A\n---\nmetadata: {}\n"}, "p/ex/a.yaml:3: the example has no kind"},
		"ExampleYAML":    {"an example that is not YAML is refused", map[string]string{"crossplane.yaml": functionYAML, "ex/a.yaml": "\n\tx"}, "p/ex/a.yaml:2: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for name, text := range tc.files {
				files["p/"+name] = text
			}
			_, err := xpkg.Read(t.Context(), e2e.Memory(t, files), "p", xpkg.ReadOptions{ExamplesRoot: "p/ex", ExamplesOptional: true})
			if err == nil {
				t.Fatalf("%s: no error", tc.reason)
			}
			text := filepath.ToSlash(err.Error())
			if !strings.Contains(text, tc.want) || strings.Contains(text, "\n") || strings.Contains(text, "Go struct") {
				t.Errorf("%s: want one sentence with %q, got %q", tc.reason, tc.want, text)
			}
		})
	}
}

// An empty value that decoding drops is not a problem.
func TestReadTakesEmptyValues(t *testing.T) {
	text := "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn, labels: {}, creationTimestamp: null}\nspec: {dependsOn: [], capabilities: null}\n"
	e2e.NoError(t, e2e.Err(xpkg.Read(t.Context(), e2e.Memory(t, map[string]string{"a.yaml": text}), ".", xpkg.ReadOptions{})))
}

// The crossplane CLI packs examples with the value null, too.
func TestReadTakesNullExamples(t *testing.T) {
	fsys := e2e.Memory(t, map[string]string{"p/a.yaml": functionYAML, "p/ex/a.yaml": "kind: A\n---\nnull\n"})
	got := e2e.Must(xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{ExamplesRoot: "p/ex"}))(t)
	e2e.Equal(t, "an example with the value null is kept", "kind: A\n---\nnull\n\n...\n\n---\n", string(got.Examples))
}

// Read leaves out the examples, but not files with similar names.
func TestReadKeepsSiblingsOfExamples(t *testing.T) {
	fsys := e2e.Memory(t, map[string]string{"p/crossplane.yaml": functionYAML, "p/examples-crd.yaml": crdYAML, "p/examples/a.yaml": "kind: A\n"})
	got := e2e.Must(xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{ExamplesRoot: "./p/examples"}))(t)
	if len(got.Objects) != 1 || string(got.Examples) != "kind: A\n\n...\n\n---\n" {
		t.Errorf("got %d objects and the examples %q", len(got.Objects), got.Examples)
	}
}

// The directory ReadOptions.ExamplesRoot must exist.
func TestReadMissesExamples(t *testing.T) {
	fsys := e2e.Memory(t, map[string]string{"p/crossplane.yaml": functionYAML})
	_, err := xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{ExamplesRoot: "p/ex"})
	e2e.Equal(t, "a missing folder of examples is an error", "p/ex: the examples do not exist", fmt.Sprint(err))
	pkg, err := xpkg.Read(t.Context(), fsys, "p", xpkg.ReadOptions{ExamplesRoot: "p/ex", Lint: xpkg.Warn})
	if err != nil || pkg.Examples != nil || len(pkg.Warnings) != 1 {
		t.Errorf("got %+v, %v; want a package without examples and a warning", pkg, err)
	}
}

func TestReadRefusesPatterns(t *testing.T) {
	e2e.ErrorHas(t, "an invalid pattern is an error with its text", e2e.Err(xpkg.Read(t.Context(), e2e.Memory(t, map[string]string{"a.yaml": functionYAML}), ".", xpkg.ReadOptions{Ignore: []string{"[a"}})), `"[a"`)
}

func TestReadHints(t *testing.T) {
	cases := map[string]map[string]string{
		"NoMetadata":   {"crd.yaml": crdYAML},
		"OtherYAML":    {"a.yaml": functionYAML, "ci.yaml": "on: push\n"},
		"NotAllowed":   {"a.yaml": functionYAML, "m.yaml": "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: ManagedResourceActivationPolicy\n"},
		"UnknownField": {"a.yaml": functionYAML + "extra: 1\n"},
	}
	for name, files := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := xpkg.Read(t.Context(), e2e.Memory(t, files), ".", xpkg.ReadOptions{})
			if hint.Of(err) == "" {
				t.Errorf("no hint with %v", err)
			}
		})
	}
}

func TestReadStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e2e.ErrorIs(t, "Read returns the cause of its context", e2e.Err(xpkg.Read(ctx, e2e.Memory(t, map[string]string{"a.yaml": functionYAML}), ".", xpkg.ReadOptions{})), context.Canceled)
}

// stopping is a file system that cancels a context before examples are read.
type stopping struct {
	afero.Fs
	stop func()
}

func (s stopping) Stat(name string) (os.FileInfo, error) {
	if name == "examples" {
		s.stop()
	}
	return s.Fs.Stat(name)
}

// A cancellation during the rules is an error, not a package without problems.
func TestReadStopsInRules(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fsys := stopping{e2e.Memory(t, map[string]string{"a.yaml": functionYAML, "b.yaml": crdYAML}), cancel}
	opts := xpkg.ReadOptions{ExamplesRoot: "examples", ExamplesOptional: true, Lint: xpkg.Warn}
	e2e.ErrorIs(t, "canceling during the rules is an error", e2e.Err(xpkg.Read(ctx, fsys, ".", opts)), context.Canceled)
}

func TestReadLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows requires a privilege to create links")
	}
	cases := map[string]struct {
		reason       string
		links        map[string]string
		ignore, want string
	}{
		"Chain":       {"a link to a link is followed", map[string]string{"p/a.yaml": "b", "p/b": "sub/real.txt"}, "", ""},
		"Absolute":    {"an absolute link inside the root is followed", map[string]string{"p/a.yaml": "{root}/p/sub/real.txt"}, "", ""},
		"Outside":     {"a link out of the root is refused", map[string]string{"p/a.yaml": "../secret.yaml"}, "", "leads out of the root"},
		"OutsideThen": {"a link through another link out of the root is refused", map[string]string{"p/a.yaml": "away/secret.yaml", "p/away": ".."}, "away", "leads out of the root"},
		"Directory":   {"a link to a directory is refused", map[string]string{"p/d": "sub"}, "", "the link leads to a directory"},
		"Ignored":     {"an ignored link to a directory is accepted", map[string]string{"p/d": "sub"}, "d", ""},
		"Nothing":     {"a link to a missing file is refused", map[string]string{"p/a.yaml": "gone"}, "", "the target of the link cannot be read"},
		"NotYAML":     {"a link without a YAML extension is not followed", map[string]string{"p/a.txt": "gone"}, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := e2e.Dir(t, map[string]string{"p/crossplane.yaml": functionYAML, "p/sub/real.txt": crdYAML, "secret.yaml": crdYAML})
			for from, to := range tc.links {
				e2e.NoError(t, os.Symlink(strings.ReplaceAll(to, "{root}", dir), filepath.Join(dir, from)))
			}
			_, err := readDir(t, filepath.Join(dir, "p"), xpkg.ReadOptions{Ignore: []string{tc.ignore}})
			if tc.want == "" && err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: got %v, want it to contain %q", tc.reason, err, tc.want)
			}
		})
	}
}

// For any file, Read returns a package or an error that names the file. A file
// that one level accepts gives the same package at lower levels. The output of
// Read can be read again, and gives the same output.
func FuzzRead(f *testing.F) {
	f.Add([]byte(functionYAML))
	f.Add([]byte(functionYAML + "...\n---\n" + crdYAML))
	f.Add([]byte(functionYAML + "extra: 1\nkind: Function\n...\nx: 1\n"))
	f.Add([]byte(`{"apiVersion":"meta.pkg.crossplane.io/v1","kind":"Function","spec":{"x":[{}]}}{}`))
	f.Add([]byte("a: &a [*a]\n--- # x\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		first := true
		var text []byte
		for _, level := range []xpkg.Level{xpkg.Strict, xpkg.Warn, xpkg.Off} {
			pkg, err := xpkg.Read(t.Context(), e2e.Memory(t, map[string]string{"p/z.yaml": string(data)}), "p", xpkg.ReadOptions{Lint: level})
			if err != nil {
				if text := filepath.ToSlash(err.Error()); !strings.Contains(text, "p/z.yaml") && !strings.Contains(text, `"p"`) {
					t.Errorf("the error names no file: %v", err)
				}
				if !first {
					t.Fatalf("level %d refuses what a stricter level accepts: %v", level, err)
				}
				continue
			}
			if !first && !bytes.Equal(text, pkg.YAML) {
				t.Errorf("level %d reads it differently:\n%s", level, cmp.Diff(string(text), string(pkg.YAML)))
			}
			first, text = false, pkg.YAML
			again, err := xpkg.Read(t.Context(), e2e.Memory(t, map[string]string{"p/z.yaml": string(pkg.YAML)}), "p", xpkg.ReadOptions{Lint: level})
			if err != nil {
				t.Fatalf("package.yaml cannot be read: %v\n%s", err, pkg.YAML)
			}
			e2e.Equal(t, "reading package.yaml again does not change it", string(pkg.YAML), string(again.YAML))
		}
	})
}

// Read accepts an object in any YAML style.
func TestReadTakesStyles(t *testing.T) {
	for name, text := range map[string]string{
		"Flow":     "# c\n" + functionJSON + "\n# d\n",
		"Tagged":   "!!map " + functionJSON + "\n\n",
		"Indented": "  apiVersion: meta.pkg.crossplane.io/v1\n  kind: Function\n  metadata: {name: fn}\n",
		"Quoted":   "\"apiVersion\": meta.pkg.crossplane.io/v1\n'kind': Function\nmetadata: {name: fn}\n",
		"Dots":     functionYAML + "...\n",
		"NoEnd":    strings.Replace(functionYAML, "name: fn", "name: fn\n  annotations:\n    a: |\n      ...\n    b: '\n      ...x'", 1),
		"Percent":  strings.Replace(functionYAML, "name: fn", "name: fn\n  annotations: {a: \"b\n%c\"}", 1),
	} {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, "the name is read in any style of YAML", "fn", e2e.Must(xpkg.Read(t.Context(), e2e.Memory(t, map[string]string{"p/crossplane.yaml": text}), "p", xpkg.ReadOptions{}))(t).Meta.Name)
		})
	}
}
