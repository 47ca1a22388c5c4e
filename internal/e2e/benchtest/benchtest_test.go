package benchtest_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
)

const root = "../../.."

// TestRows checks that each row names a benchmark whose file names the row, and that each
// benchmark that calls Measure has a row.
func TestRows(t *testing.T) {
	seen, measured := map[string]bool{}, map[string]bool{}
	folders := map[string][]benchFile{}
	for _, row := range benchtest.Rows() {
		if seen[row.Name] || len(row.Aims) == 0 || row.Job == "" {
			t.Errorf("row %q has a name of another row, no aim or no job", row.Name)
		}
		seen[row.Name], measured[row.Package+" "+row.Benchmark] = true, true
		if folders[row.Package] == nil {
			folders[row.Package] = benchFiles(t, filepath.Join(root, row.Package))
		}
		found := false
		for _, f := range folders[row.Package] {
			_, ok := f.functions[row.Benchmark]
			found = found || ok && f.literals[row.Name]
		}
		if !found {
			t.Errorf("no file in %s has %s and the name of the row %q", row.Package, row.Benchmark, row.Name)
		}
	}
	for folder, files := range folders {
		for _, f := range files {
			for name, measures := range f.functions {
				if measures && !measured[folder+" "+name] {
					t.Errorf("no row names %s in %s", name, folder)
				}
			}
		}
	}
}

// A benchFile is a file of tests.
type benchFile struct {
	// functions are its benchmarks. The value is true if the benchmark calls Measure.
	functions map[string]bool
	literals  map[string]bool
}

func benchFiles(t *testing.T, dir string) []benchFile {
	t.Helper()
	paths := e2e.Must(filepath.Glob(filepath.Join(dir, "*_test.go")))(t)
	var files []benchFile
	for _, path := range paths {
		parsed := e2e.Must(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
		f := benchFile{functions: map[string]bool{}, literals: map[string]bool{}}
		benchmark := ""
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if benchmark = n.Name.Name; strings.HasPrefix(benchmark, "Benchmark") {
					f.functions[benchmark] = false
				}
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				f.literals[text] = err == nil
			case *ast.SelectorExpr:
				_, ok := f.functions[benchmark]
				if x, isName := n.X.(*ast.Ident); ok && isName && x.Name == "benchtest" && n.Sel.Name == "Measure" {
					f.functions[benchmark] = true
				}
			}
			return true
		})
		files = append(files, f)
	}
	return files
}

// output is what go test -v printed, without what Go's own benchmarks report.
const output = `goos: linux
BenchmarkBuild
BenchmarkBuild/BuildEngine
    bench_large_test.go:46: neither XFN_TEST_DOCKER_HOST nor DOCKER_HOST names an engine
--- SKIP: BenchmarkBuild/BuildEngine

sample BenchmarkBuildTarball/program=xfn 1 1300000000 ns/op 62914560 peak-bytes

sample BenchmarkBuildTarball/program=limit 1 1000000000 ns/op

sample BenchmarkBuildTarball/program=crossplane 1 12500000000 ns/op

sample BenchmarkBuildTarball/program=xfn 1 1310000000 ns/op 73400320 peak-bytes

sample BenchmarkBuildTarball/program=limit 1 1010000000 ns/op
BenchmarkBuild-2 	       1	 12.00 ms-xfn

sample BenchmarkRenderMany/program=xfn 1 2000000000 ns/op 8388608 peak-bytes

sample BenchmarkRenderMany/program=limit 1 3400000000 ns/op 8388608 peak-bytes

sample BenchmarkSandbox/program=xfn 1 25000000 ns/op

sample BenchmarkSandbox/program=limit 1 15500000 ns/op

sample BenchmarkSandbox/program=floor 1 23500000 ns/op

sample BenchmarkRenderSource/program=xfn 1 99900000 ns/op

sample BenchmarkRenderSource/program=limit 1 45000000 ns/op
BenchmarkSuite
    bench_many_test.go:80: xfn test: exit status 1
        a case failed
--- FAIL: BenchmarkSuite
`

// TestReport checks the table, and that other programs see each sample once.
func TestReport(t *testing.T) {
	var samples strings.Builder
	read := e2e.Must(benchtest.Read(strings.NewReader(output), &samples))(t)
	if n := strings.Count(samples.String(), "\nBenchmark"); n != 11 || strings.Contains(samples.String(), "sample") {
		t.Errorf("got the samples\n%s", samples.String())
	}
	m := benchtest.Machine{CPU: "Pentium", Cores: 2, Memory: 8 << 30, OS: "linux/amd64", Go: "go1.26", Date: "2026-01-02", Version: "v1.2.3", Registry: "a registry", Layers: 4}
	r := benchtest.NewReport(m, read, regexp.MustCompile("^Build|^RenderMany|RenderSource$|^Sandbox|^Suite$|Python$"))
	want := []byte(e2e.ReadFile(t, "testdata/table.md"))
	e2e.Equal(t, "the report is the table of the golden file", string(want), r.Markdown())
	page, err := r.Insert("before\n<!-- `make bench-page` writes this table. -->\nold\n<!-- end of the table -->\nafter\n")
	if err != nil || !strings.HasPrefix(page, "before\n") || !strings.Contains(page, string(want)) || strings.Contains(page, "old") || !strings.HasSuffix(page, "after\n") {
		t.Errorf("got %v and the page\n%s", err, page)
	}
	e2e.Error(t, "a page without a place for the table", e2e.Err(r.Insert("no table\n")))
}

// TestReadErrors checks that a sample that is cut off is an error.
func TestReadErrors(t *testing.T) {
	var none strings.Builder
	e2e.Error(t, "a sample without a unit is an error", e2e.Err(benchtest.Read(strings.NewReader("sample BenchmarkPull/program=xfn 1 12"), &none)))
}

var update = flag.Bool("update", false, "write the table of bench.json into the page")

// TestPage checks that the page about the table explains each limit.
func TestPage(t *testing.T) {
	const path = root + "/docs/explanation/performance.md"
	page := []byte(e2e.ReadFile(t, path))
	if *update {
		updatePage(t, path, string(page))
	}
	text, err := benchtest.Report{}.Insert(string(page)) // without the lines of the last run
	e2e.NoError(t, err)
	text = strings.Join(strings.Fields(text), " ")
	for _, row := range benchtest.Rows() {
		if row.Limit != "" && !strings.Contains(text, "**"+row.Limit+"**") {
			t.Errorf("the page does not explain the limit %q", row.Limit)
		}
	}
}

func updatePage(t *testing.T, path, page string) {
	t.Helper()
	text := []byte(e2e.ReadFile(t, reportFile))
	var report benchtest.Report
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatalf("reading %q: %v", reportFile, err)
	}
	changed := e2e.Must(report.Insert(page))(t)
	e2e.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
}
