package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
)

// BenchmarkSandbox renders with the template's function in a sandbox, as root and as an
// ordinary user, compared with the start of the same program and a render by it.
func BenchmarkSandbox(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("only root can run programs as another user")
	}
	if !benchtest.Wants(b, "Sandbox", "SandboxUser") {
		return
	}
	dir := scaffolded(b)
	benchtest.Run(b, dir, e2e.Binary(b), "xpkg", "build", "-f", "package", "--embed-runtime-source", ".", "-o", "fn.xpkg")
	goBuilds(b, dir, runtime.GOARCH)
	e2e.WriteFile(b, filepath.Join(dir, "packaged.yaml"), "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-hello}\nspec: {package: ./fn.xpkg}\n")
	for row, id := range map[string]int{"Sandbox": 0, "SandboxUser": 54321} {
		work := ownedCopy(b, dir, id)
		b.Setenv("XFN_CACHE_DIR", filepath.Join(work, "cache"))
		run := func(xfn string, args ...string) benchtest.Cost {
			user := strconv.Itoa(id)
			return benchtest.Run(b, work, "setpriv", append([]string{"--reuid", user, "--regid", user, "--clear-groups", xfn}, args...)...)
		}
		render := []string{"render", "-q", "example/xr.yaml", "example/composition.yaml"}
		sandboxed := append(render[:len(render):len(render)], "packaged.yaml", "--runtime", "Sandbox")
		run(e2e.Binary(b), sandboxed...)
		bare := func() benchtest.Cost {
			address := freeAddress(b)
			args := append(render[:len(render):len(render)], development(b, work, address))
			var fn *exec.Cmd
			cost := benchtest.Timed(func() {
				fn = startBare(b, filepath.Join(work, "fn-"+runtime.GOARCH), address)
				run(e2e.Binary(b), args...)
			})
			_ = fn.Process.Kill()
			_ = fn.Wait() // Wait returns an error, because the function was killed.
			return cost
		}
		benchtest.Measure(b, row, benchtest.Jobs{
			XFN:   func(xfn string) benchtest.Cost { return run(xfn, sandboxed...) },
			Limit: bare,
			Floor: func() benchtest.Cost { return after(bare(), func() { versionInNamespaces(b) }) },
		})
	}
}

// ownedCopy returns a copy of a folder that belongs to a user.
func ownedCopy(b *testing.B, dir string, id int) string {
	b.Helper()
	parent, err := os.MkdirTemp("", "bench") // The parent of b.TempDir is closed to others.
	e2e.NoError(b, err)
	b.Cleanup(func() { removeAll(b, parent) })
	e2e.NoError(b, os.Chmod(parent, 0o755))
	work := filepath.Join(parent, "work")
	e2e.NoError(b, os.CopyFS(work, os.DirFS(dir)))
	e2e.NoError(b, filepath.WalkDir(work, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, id, id)
	}))
	return work
}

// startBare starts a function without a sandbox, and waits for its first answer.
func startBare(b *testing.B, program, address string) *exec.Cmd {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program, "--insecure", "--address", address)
	e2e.NoError(b, cmd.Start())
	client, err := grpc.Dial(address, grpc.Options{})
	e2e.NoError(b, err)
	defer client.Close()
	e2e.NoError(b, client.WaitReady(b.Context()))
	_, err = client.RunFunction(b.Context(), "function-hello", &fnv1.RunFunctionRequest{})
	e2e.NoError(b, err)
	return cmd
}

// versionInNamespaces runs xfn version in the same namespaces as a sandbox.
func versionInNamespaces(b *testing.B) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), e2e.Binary(b), "version")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{Size: 1}},
	}
	e2e.NoError(b, cmd.Run())
}
