package e2e_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// BenchmarkPython builds a function with grpcio and protobuf of Debian for two platforms. It
// reports the median of builds from a warm cache, s-build (goal: below 2), of builds after a
// change of the source, s-change (goal: below 0.3), and the peak memory in MiB (goal: below
// 200). The base image is small, because it is not what is measured.
func BenchmarkPython(b *testing.B) {
	f := newPythonFunction(b)
	f.base = pythonBase(b)
	args := f.args("-q", "--platform", "linux/amd64,linux/arm64")
	f.run(b, args...)
	b.Chdir(f.dir)
	b.Setenv("XFN_CACHE_DIR", f.cache)
	args = append(args, "--offline")
	benchBuilds(b, args, "function/changed.py", "changed = %d\n")
}

// benchBuilds reports the metrics of builds with these arguments. Before every second build
// it writes a file, whose content has a number.
func benchBuilds(b *testing.B, args []string, file, content string) {
	b.Helper()
	var builds, changes []time.Duration
	var peak int64
	n := 0
	for b.Loop() {
		for range benchRounds {
			took, most := buildOnce(b, e2e.Binary(b), args...)
			builds, peak = append(builds, took), max(peak, most)
			n++
			if err := os.WriteFile(file, fmt.Appendf(nil, content, n), 0o600); err != nil {
				b.Fatal(err)
			}
			took, most = buildOnce(b, e2e.Binary(b), args...)
			changes, peak = append(changes, took), max(peak, most)
		}
	}
	b.ReportMetric(middle(builds).Seconds(), "s-build")
	b.ReportMetric(middle(changes).Seconds(), "s-change")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
}
