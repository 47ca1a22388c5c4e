package e2e_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestHouse(t *testing.T) {
	faults := e2e.Must(checkHouse(os.DirFS("../.."), houseAreas()))(t)
	for _, f := range faults {
		t.Error(f)
	}
}

// An area must not be inside another, or its layer would depend on the order of the table.
func TestAreasAreDisjoint(t *testing.T) {
	areas := houseAreas()
	for i, a := range areas {
		if slices.ContainsFunc(areas[i+1:], func(b houseArea) bool {
			return strings.HasPrefix(a.Folder+"/", b.Folder+"/") || strings.HasPrefix(b.Folder+"/", a.Folder+"/")
		}) {
			t.Errorf("area %q is inside another or is listed twice", a.Folder)
		}
	}
}

func TestHouseRules(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   []string
	}{
		"Clean": {
			reason: "a file may import its own area, lower layers and other modules",
			files: map[string]string{
				"cmd/app/main.go":      "package main\n\nimport (\n\t\"fmt\"\n\t\"log\"\n\n\t_ \"x.test/house/cmd/app/sub\"\n\t_ \"x.test/house/high\"\n)\n\nfunc main() { fmt.Println(); log.Println() }",
				"cmd/app/sub/doc.go":   "// Package sub is one.\npackage sub",
				"cmd/app/doc.go":       "// Command app is one.\npackage main",
				"high/doc.go":          "// Package high is one.\npackage high\n\nimport _ \"x.test/house/low\"\nimport _ \"x.test/housekeeping\"",
				"low/doc.go":           "// Package low is one.\npackage low",
				"low/part/doc.go":      "// Package part is one.\npackage part\n\nimport _ \"x.test/house/low\"",
				"high/only/x_test.go":  "package only",
				"low/testdata/bad.go":  "package bad\n\nimport _ \"x.test/house/high\"",
				"low/_template/bad.go": "package bad\n\nimport _ \"x.test/house/high\"",
				"low/.hidden/bad.go":   "package bad\n\nimport _ \"x.test/house/high\"",
				"other/go.mod":         "module other",
				"other/bad.go":         "package bad\n\nimport _ \"x.test/house/high\"",
			},
		},
		"Up": {
			reason: "a file must not import a higher layer",
			files: map[string]string{
				"low/doc.go": "// Package low is one.\npackage low\n\nimport _ \"x.test/house/high/part\"",
			},
			want: []string{"low/doc.go:4: imports high/part of layer 4: low is on layer 1, and imports only lower ones"},
		},
		"UpOnOneSystem": {
			reason: "imports of files with build constraints are checked",
			files: map[string]string{
				"low/doc.go":         "// Package low is one.\npackage low",
				"low/low_windows.go": "//go:build windows\n\npackage low\n\nimport _ \"x.test/house/high\"",
			},
			want: []string{"low/low_windows.go:5: imports high of layer 4: low is on layer 1, and imports only lower ones"},
		},
		"Sideways": {
			reason: "a file must not import another area of its layer",
			files: map[string]string{
				"high/doc.go": "// Package high is one.\npackage high\n\nimport _ \"x.test/house/tall\"",
			},
			want: []string{"high/doc.go:4: imports tall of layer 4: high is on layer 4, and imports only lower ones"},
		},
		"Test": {
			reason: "a test may import any area, print, and create a context",
			files: map[string]string{
				"low/doc.go":      "// Package low is one.\npackage low",
				"low/low_test.go": "package low_test\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\n\t_ \"x.test/house/high\"\n)\n\nfunc f() { fmt.Println(context.Background()) }",
			},
		},
		"TestPackage": {
			reason: "a package for tests has the rights of a test, and only tests may import it",
			files: map[string]string{
				"low/lowtest/doc.go":  "// Package lowtest is one.\npackage lowtest",
				"low/lowtest/fake.go": "package lowtest\n\nimport \"os\"\n\nfunc f() { os.Exit(0) }",
				"low/doc.go":          "// Package low is one.\npackage low\n\nimport _ \"x.test/house/low/lowtest\"",
				"low/low_test.go":     "package low_test\n\nimport _ \"x.test/house/low/lowtest\"",
			},
			want: []string{"low/doc.go:4: imports low/lowtest: that is for tests"},
		},
		"Test command": {
			reason: "a package called test is not for tests only",
			files: map[string]string{
				"high/test/doc.go": "// Package test is one.\npackage test\n\nimport \"os\"\n\nfunc f() { os.Exit(0) }",
				"high/doc.go":      "// Package high is one.\npackage high\n\nimport _ \"x.test/house/high/test\"",
			},
			want: []string{"high/test/doc.go:6: uses os.Exit: that is for the command line"},
		},
		"CommandLine": {
			reason: "only the command line itself imports the command line",
			files: map[string]string{
				"low/doc.go":      "// Package low is one.\npackage low\n\nimport _ \"x.test/house/cmd/app\"",
				"low/low_test.go": "package low_test\n\nimport _ \"x.test/house/cmd/app/sub\"",
			},
			want: []string{
				"low/doc.go:4: imports cmd/app: nothing imports the command line",
				"low/low_test.go:3: imports cmd/app/sub: nothing imports the command line",
			},
		},
		"NoArea": {
			reason: "each folder must belong to an area",
			files: map[string]string{
				"attic/doc.go": "// Package attic is one.\npackage attic",
				"lower/doc.go": "// Package lower is one: to begin like an area is not to lie in it.\npackage lower",
				"high/doc.go":  "// Package high is one.\npackage high\n\nimport _ \"x.test/house/attic\"",
				"root.go":      "// Package root is one.\npackage root",
			},
			want: []string{
				"root.go:2: folder . belongs to no area: add it to internal/e2e/house_areas_test.go",
				"attic/doc.go:2: folder attic belongs to no area: add it to internal/e2e/house_areas_test.go",
				"high/doc.go:4: imports attic, which belongs to no area",
				"lower/doc.go:2: folder lower belongs to no area: add it to internal/e2e/house_areas_test.go",
			},
		},
		"Reserved": {
			reason: "only the command line uses the process, the environment and the terminal",
			files: map[string]string{
				"low/doc.go": "// Package low is one.\npackage low",
				"low/low.go": `package low

import (
	"context"
	"flag"
	. "fmt"
	"log"
	_ "log/slog"
	sys "os"
)

func f() {
	_ = context.Background
	context.TODO()
	context.WithoutCancel(nil)
	sys.Exit(1)
	sys.Getenv("X")
	sys.LookupEnv("X")
	sys.Environ()
	sys.Open("x")
	flag.Parse()
	log.New(nil, "", 0)
	log.Println()
}
`,
				"low/print.go": "package low\n\nimport \"fmt\"\n\nfunc g() { fmt.Printf(fmt.Sprint()) }",
			},
			want: []string{
				"low/low.go:5: imports flag: that is for the command line",
				"low/low.go:6: imports the names of fmt: call them by their package",
				"low/low.go:13: uses context.Background: that is for the command line",
				"low/low.go:14: uses context.TODO: that is for the command line",
				"low/low.go:16: uses os.Exit: that is for the command line",
				"low/low.go:17: uses os.Getenv: that is for the command line",
				"low/low.go:18: uses os.LookupEnv: that is for the command line",
				"low/low.go:19: uses os.Environ: that is for the command line",
				"low/low.go:23: uses log.Println: that is for the command line",
				"low/print.go:5: uses fmt.Printf: that is for the command line",
			},
		},
		"Hidden": {
			reason: "a variable with the name of a package is not the package",
			files: map[string]string{
				"low/doc.go": "// Package low is one.\npackage low",
				"low/low.go": "package low\n\nimport \"os\"\n\nvar _ = os.ErrExist\n\nfunc f(os interface{ Exit(int) }) { os.Exit(1) }",
			},
		},
		"Flag": {
			reason: "only the command line and tests may name flags",
			files: map[string]string{
				"low/doc.go":      "// Package low is one, and not for --flags.\npackage low\n\nconst a, b, c = \"run it without --offline\", \"--\", \"---- x\"",
				"low/low_test.go": "package low_test\n\nconst a = \"--offline\"",
			},
			want: []string{"low/doc.go:4: names a flag in \"run it without --offline\": only the command line may name flags"},
		},
		"Util": {
			reason: "a package name must describe the content",
			files: map[string]string{
				"low/util/doc.go": "// Package util is one.\npackage util",
			},
			want: []string{"low/util/doc.go:2: package name util does not describe the content"},
		},
		"Leak": {
			reason: "exported names must not use types of internal packages",
			files: map[string]string{
				"low/doc.go": "// Package low is one.\npackage low",
				"low/low.go": `package low

import (
	secret "x.test/house/low/internal/inner"
	"x.test/house/low/part"
)

type Options struct {
	part.Fine
	secret.Embedded
	Field  map[string][]*secret.Element
	hidden secret.Hidden
}

type Alias = secret.Aliased

var Value secret.Value

func Do(func(secret.Event)) {}
func (Options) Method() (struct{ F secret.Result }, error) { return nil, nil }
func do(secret.Event) {}
func (unseen) Method(secret.Event) { var _ secret.Event }
`,
				"low/low_test.go":           "package low_test\n\nimport \"x.test/house/low/internal/inner\"\n\nfunc Test(inner.T) {}",
				"low/part/doc.go":           "// Package part is one.\npackage part",
				"low/internal/inner/doc.go": "// Package inner is one.\npackage inner\n\nimport \"x.test/house/low/internal/inner/more\"\n\nfunc F(more.T) {}",
			},
			want: []string{
				"low/low.go:10: Options is exported and uses secret.Embedded, which importers cannot use",
				"low/low.go:11: Options is exported and uses secret.Element, which importers cannot use",
				"low/low.go:15: Alias is exported and uses secret.Aliased, which importers cannot use",
				"low/low.go:17: Value is exported and uses secret.Value, which importers cannot use",
				"low/low.go:19: Do is exported and uses secret.Event, which importers cannot use",
				"low/low.go:20: Method is exported and uses secret.Result, which importers cannot use",
			},
		},
		"Large": {
			reason: "public packages export at most 150 identifiers",
			files: map[string]string{
				"low/doc.go":                "// Package low is one.\npackage low\n\nconst (\n" + strings.Repeat("X = 0\n", 149) + "x = 0\n)\n\ntype T[P any] struct{ F int }\n\nfunc (*T[P]) M() {}\nfunc (T[P]) m() {}",
				"low/internal/inner/doc.go": "// Package inner is one.\npackage inner\n\nfunc F() {}",
			},
			want: []string{"public packages export 151 identifiers, and may export 150"},
		},
		"NoDoc": {
			reason: "each package must have a doc.go with a package comment",
			files: map[string]string{
				"high/high.go":       "// Package high is one.\npackage high",
				"low/doc.go":         "package low",
				"low/part/doc.go":    "// Copyright of nobody.\n\npackage part",
				"low/part/a_test.go": "package part",
			},
			want: []string{
				"high/high.go:2: package high has no doc.go",
				"low/doc.go:1: doc.go has no package comment",
				"low/part/doc.go:3: doc.go has no package comment",
			},
		},
	}
	areas := []houseArea{{"cmd/app", topLayer}, {"high", 4}, {"tall", 4}, {"low", 1}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"go.mod": {Data: []byte("module x.test/house\n")}}
			for file, text := range tc.files {
				fsys[file] = &fstest.MapFile{Data: []byte(text)}
			}
			got := e2e.Must(checkHouse(fsys, areas))(t)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestHouseFails(t *testing.T) {
	cases := map[string]struct {
		reason string
		fsys   fstest.MapFS
		want   string
	}{
		"NoModule": {reason: "a missing go.mod is an error, because it has the module path", fsys: fstest.MapFS{}, want: "reading the module's go.mod"},
		"NotGo": {
			reason: "an invalid Go file is an error with its name",
			fsys: fstest.MapFS{
				"go.mod":     {Data: []byte("module x.test/house\n")},
				"low/doc.go": {Data: []byte("not Go")},
			},
			want: `parsing "low/doc.go"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(checkHouse(tc.fsys, nil)), tc.want)
		})
	}
}
