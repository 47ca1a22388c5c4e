package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// asOrdinaryUser runs this test program again as a user without privileges, in a
// directory that the user owns, and returns the output.
func asOrdinaryUser(t *testing.T, env []string, args ...string) string {
	t.Helper()
	const uid, gid = 54321, 54321
	dir := e2e.ShortDir(t)
	self := e2e.Must(os.ReadFile("/proc/self/exe"))(t)
	program := filepath.Join(dir, "test")
	e2e.NoError(t, errors.Join(os.WriteFile(program, self, 0o755), os.Chown(dir, uid, gid)))
	cmd := exec.CommandContext(e2e.Context(t), program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(env, "TMPDIR="+dir, "HOME="+dir)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	return e2e.Output(t, cmd)
}
