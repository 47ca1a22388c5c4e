package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
)

// BenchmarkPython builds a function with grpcio and protobuf of Debian for two platforms from
// a warm cache. The base image is small, because it is not what is measured.
func BenchmarkPython(b *testing.B) {
	f := newPythonFunction(b)
	f.base = pythonBase(b)
	args := f.args("-q", "--platform", "linux/amd64,linux/arm64")
	f.run(b, args...)
	b.Setenv("XFN_CACHE_DIR", f.cache)
	measureBuilds(b, "Python", "PythonChanged", f.dir, append(args, "--offline"), "function/changed.py", "changed = %d\n")
}

// measureBuilds measures builds without a change, and after a change of a file.
func measureBuilds(b *testing.B, row, changed, dir string, args []string, file, content string) {
	b.Helper()
	build := func(xfn string) benchtest.Cost { return benchtest.Run(b, dir, xfn, args...) }
	benchtest.Measure(b, row, benchtest.Jobs{XFN: build})
	benchtest.Measure(b, changed, benchtest.Jobs{XFN: func(xfn string) benchtest.Cost {
		e2e.NoError(b, os.WriteFile(filepath.Join(dir, file), fmt.Appendf(nil, content, time.Now().UnixNano()), 0o600))
		return build(xfn)
	}})
}
