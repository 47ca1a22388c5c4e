package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
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
// collector does not run. BenchmarkStart measures the time.
func TestStart(t *testing.T) {
	if platform := runtime.GOOS + "/" + runtime.GOARCH; platform != "linux/amd64" {
		t.Skipf("the figures are those of linux/amd64, not %s", platform)
	}
	xfn := e2e.Binary(t)
	info, err := os.Stat(xfn)
	if err != nil {
		t.Fatal(err)
	}
	start := packageInit(t, xfn)
	if start.collected {
		t.Error("the garbage collector ran")
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

// BenchmarkStart compares the duration of "xfn version" with that of an empty Go
// program, by medians of alternating runs. The goal is at most 7 times as long.
func BenchmarkStart(b *testing.B) {
	xfn := e2e.Binary(b)
	empty := emptyProgram(b)
	var starts, empties, inits []time.Duration
	for b.Loop() {
		empties = append(empties, elapsed(b, empty))
		starts = append(starts, elapsed(b, xfn, "version"))
		inits = append(inits, packageInit(b, xfn).took)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(median(starts)), "ms-start")
	b.ReportMetric(ms(median(inits)), "ms-init")
	b.ReportMetric(float64(median(starts))/float64(median(empties)), "times-empty")
}

// emptyProgram builds a program that does nothing.
func emptyProgram(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	for name, text := range map[string]string{"go.mod": "module empty\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	run1(b, dir, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "empty", ".")
	return filepath.Join(dir, "empty")
}

func elapsed(b *testing.B, name string, args ...string) time.Duration {
	b.Helper()
	start := time.Now()
	run1(b, ".", name, args...)
	return time.Since(start)
}

// An initialization is the work of a program before main.
type initialization struct {
	took                time.Duration
	packages, allocated int64
	collected           bool
}

var traced = regexp.MustCompile(`(?m)^init \S+ @\S+ ms, (\S+) ms clock, (\d+) bytes, \d+ allocs$`)

// packageInit runs a program and sums the lines of GODEBUG=inittrace=1.
func packageInit(t testing.TB, program string) initialization {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1,gctrace=1", "GOGC=100")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	all := initialization{collected: strings.Contains(stderr.String(), "\ngc ")}
	for _, line := range traced.FindAllStringSubmatch(stderr.String(), -1) {
		took, err := time.ParseDuration(line[1] + "ms")
		if err != nil {
			t.Fatalf("reading %q: %v", line[0], err)
		}
		allocated, err := strconv.ParseInt(line[2], 10, 64)
		if err != nil {
			t.Fatalf("reading %q: %v", line[0], err)
		}
		all.took += took
		all.allocated += allocated
		all.packages++
	}
	if all.packages == 0 {
		t.Fatalf("the output has no traces:\n%s", stderr.String())
	}
	return all
}
