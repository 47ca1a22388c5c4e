//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// BenchmarkRenderMany renders 1,000 and 10,000 XRs by a pipeline of one
// builtin, each in one process, and reports the peak memory. Ten times as many
// XRs should take ten times as long and no more memory.
func BenchmarkRenderMany(b *testing.B) {
	xfn := e2e.Binary(b)
	took := map[int]time.Duration{}
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			renderMany(b, xfn, manyXRs(b, n, "../../testdata/golden/render/basic-single", "{apiVersion: gold.test/v1, kind: XWidget, metadata: {name: alpha-%d}, spec: {size: 3}}"))
			took[n] = b.Elapsed() / time.Duration(b.N)
			if n == 10000 {
				b.ReportMetric(took[n].Seconds()/took[1000].Seconds(), "times-1000")
			}
		})
	}
}

// BenchmarkRenderManyPatched renders 1,000 XRs with Patch & Transform and
// auto-ready in one process, and reports the peak memory.
func BenchmarkRenderManyPatched(b *testing.B) {
	xfn := e2e.Binary(b)
	dir := manyXRs(b, 1000, "testdata/patched", "{apiVersion: example.crossplane.io/v1, kind: XBucket, metadata: {name: bucket-%d}, spec: {bucketRegion: us-east-2}}")
	b.ResetTimer()
	renderMany(b, xfn, dir)
}

// renderMany renders the folders of manyXRs.
func renderMany(b *testing.B, xfn, dir string) {
	b.Helper()
	var peak int64
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), xfn, "render", "--xr", "many.yaml", "--all-documents", "composition.yaml", "functions.yaml", "-q")
		cmd.Dir = dir
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		peak = max(peak, maxRSS(cmd.ProcessState))
	}
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
}

// maxRSS returns the peak memory of a process in bytes.
func maxRSS(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) * 1024
}

// manyXRs returns a new folder with the Composition and the Functions of the folder
// from, and with n XRs in one file. xr is the format of an XR.
func manyXRs(b *testing.B, n int, from, xr string) string {
	b.Helper()
	dir := b.TempDir()
	for _, name := range []string{"composition.yaml", "functions.yaml"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var xrs strings.Builder
	for i := range n {
		fmt.Fprintf(&xrs, "---\n"+xr+"\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "many.yaml"), []byte(xrs.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return dir
}
