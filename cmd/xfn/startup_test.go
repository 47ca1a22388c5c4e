package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPackageInit bounds what all packages together allocate before main, since
// each start pays for it. Memory is the same on every machine, time is not:
// BenchmarkPackageInit measures that.
func TestPackageInit(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, allocated := packageInit(t, exe, "-test.run=^$"); allocated > initLimit {
		t.Errorf("package init allocates %d bytes, more than %d", allocated, initLimit)
	}
}

// BenchmarkPackageInit is the time that package init takes. The aim is less
// than 15 ms.
func BenchmarkPackageInit(b *testing.B) {
	xfn := binary(b)
	var sum time.Duration
	for b.Loop() {
		took, _ := packageInit(b, xfn, "version")
		sum += took
	}
	b.ReportMetric(float64(sum.Microseconds())/1000/float64(b.N), "ms-init")
}

// packageInit adds up the lines of GODEBUG=inittrace=1, of the form
// "init PACKAGE @AT ms, TOOK ms clock, N bytes, N allocs".
func packageInit(t testing.TB, exe, arg string) (took time.Duration, allocated int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), exe, arg)
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(&stderr)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 || f[0] != "init" {
			continue
		}
		ms, err := strconv.ParseFloat(f[4], 64)
		if err != nil {
			t.Fatalf("reading %q: %v", lines.Text(), err)
		}
		n, err := strconv.Atoi(f[7])
		if err != nil {
			t.Fatalf("reading %q: %v", lines.Text(), err)
		}
		took += time.Duration(ms * float64(time.Millisecond))
		allocated += n
	}
	if allocated == 0 {
		t.Fatalf("nothing was traced:\n%s", stderr.String())
	}
	return took, allocated
}
