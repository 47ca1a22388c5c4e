package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
)

// Measured costs of a start on linux/amd64. TestStart fails if they rise by a
// tenth: increase these figures only for a good reason.
const (
	recordedInitBytes    = 4_350_000
	recordedInitPackages = 453
	recordedSize         = 56_960_000
)

// TestStart limits the work before main: allocations of all packages, and the number of
// packages with initialization. Unlike times, these are equal on all machines. The garbage
// collector does not run. BenchmarkStart measures times.
func TestStart(t *testing.T) {
	if platform := runtime.GOOS + "/" + runtime.GOARCH; platform != "linux/amd64" {
		t.Skipf("the figures are for linux/amd64, not %s", platform)
	}
	xfn := e2e.Binary(t)
	info := e2e.Must(os.Stat(xfn))(t)
	start := packageInit(t, xfn)
	if start.collected {
		t.Error("the garbage collector ran before package startup delayed it")
	}
	for _, figure := range []struct {
		name               string
		measured, recorded int64
	}{
		{"bytes that package init allocates", start.allocated, recordedInitBytes},
		{"packages with something to initialize", start.packages, recordedInitPackages},
		{"size of the program in bytes", info.Size(), recordedSize},
	} {
		t.Logf("%s: %d (recorded %d)", figure.name, figure.measured, figure.recorded)
		if figure.measured > figure.recorded+figure.recorded/10 {
			t.Errorf("%s: %d, more than a tenth above %d", figure.name, figure.measured, figure.recorded)
		}
	}
}

// BenchmarkStart compares short commands with an empty Go program.
func BenchmarkStart(b *testing.B) {
	empty, only := emptyProgram(b), importingProgram(b)
	for row, arg := range map[string]string{"Help": "--help", "Version": "version"} {
		run := func(program string) benchtest.Cost { return benchtest.Run(b, ".", program, arg) }
		cli := run
		if arg == "version" {
			cli = func(program string) benchtest.Cost { return benchtest.Run(b, ".", program, arg, "--client") }
		}
		benchtest.Measure(b, row, benchtest.Jobs{XFN: run, Limit: func() benchtest.Cost { return run(empty) }, Floor: func() benchtest.Cost { return run(only) }, CLI: cli})
	}
}

// emptyProgram builds a program that does nothing.
func emptyProgram(b *testing.B) string {
	b.Helper()
	dir := e2e.Dir(b, map[string]string{"go.mod": "module empty\n", "main.go": "package main\n\nfunc main() {}\n"})
	benchtest.Run(b, dir, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "empty", ".")
	return filepath.Join(dir, "empty")
}

// importingProgram builds a program that does nothing but import the packages that xfn imports
// from others.
func importingProgram(b *testing.B) string {
	b.Helper()
	const root, module = "../..", "github.com/xfn-dev/xfn/"
	list := exec.CommandContext(b.Context(), "go", "list", "-deps", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`, "./cmd/xfn")
	list.Dir = root
	lines := e2e.Must(list.Output())(b)
	imports := map[string]bool{}
	for line := range strings.Lines(string(lines)) {
		if by, path, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(by, module) && !strings.HasPrefix(path, module) {
			imports[path] = true
		}
	}
	text := "package main\n\nimport (\n"
	for path := range imports {
		text += "\t_ " + strconv.Quote(path) + "\n"
	}
	dir := b.TempDir()
	e2e.WriteFile(b, filepath.Join(dir, "main.go"), text+")\n\nfunc main() {}\n")
	// An overlay puts the program into this module, which knows the versions.
	folder := e2e.Must(filepath.Abs(filepath.Join(root, "cmd", "only-imports")))(b)
	overlay := e2e.Must(json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(folder, "main.go"): filepath.Join(dir, "main.go")}}))(b)
	e2e.WriteFile(b, filepath.Join(dir, "overlay.json"), string(overlay))
	benchtest.Run(b, root, "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "only"), "./cmd/only-imports")
	return filepath.Join(dir, "only")
}

// An initialization is the work of a program before main.
type initialization struct {
	packages, allocated int64
	collected           bool
}

var traced = regexp.MustCompile(`(?m)^init \S+ @\S+ ms, \S+ ms clock, (\d+) bytes, \d+ allocs$`)

// packageInit runs a program and sums the lines of GODEBUG=inittrace=1. It sets GOMAXPROCS=1: each
// processor that runs goroutines caches free memory, which the garbage collector counts as used. With
// several, it depends on other work on the machine whether the collector runs before package startup.
func packageInit(t testing.TB, program string) initialization {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1,gctrace=1", "GOGC=100", "GOMAXPROCS=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	e2e.NoError(t, cmd.Run())
	all := initialization{collected: strings.Contains(stderr.String(), "\ngc ")}
	for _, line := range traced.FindAllStringSubmatch(stderr.String(), -1) {
		allocated, err := strconv.ParseInt(line[1], 10, 64)
		if err != nil {
			t.Fatalf("reading %q: %v", line[0], err)
		}
		all.allocated += allocated
		all.packages++
	}
	if all.packages == 0 {
		t.Fatalf("the output has no traces:\n%s", stderr.String())
	}
	return all
}
