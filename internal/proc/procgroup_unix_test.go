//go:build unix

package proc_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/proc"
)

// roleEnv is an environment variable that selects the role of the test binary: the test
// starts it as a child, which starts it as a grandchild.
const roleEnv = "PROCGROUP_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "child":
		cmd := exec.CommandContext(context.Background(), os.Args[0])
		cmd.Env = append(os.Environ(), roleEnv+"=grandchild")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if err := cmd.Run(); err != nil {
			os.Exit(1)
		}
	case "grandchild":
		_, _ = os.Stdout.WriteString("here\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
	default:
		os.Exit(m.Run())
	}
}

// TestKillWhole checks that KillGroup kills a child and its grandchild. Both have the
// write end of a pipe open: a read ends when both have ended.
func TestKillWhole(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=child")
	proc.KillGroup(cmd)
	e2e.NoError(t, e2e.Err(cmd.StdinPipe()))
	r, w, err := os.Pipe()
	e2e.NoError(t, err)
	cmd.Stdout = w
	e2e.NoError(t, cmd.Start())
	e2e.NoError(t, w.Close())
	e2e.NoError(t, e2e.Err(io.ReadFull(r, make([]byte, len("here\n")))))
	cancel()
	e2e.ErrorHas(t, "the canceled command is killed", e2e.Await(t, cmd.Wait), "killed")
	e2e.NoError(t, e2e.Err(io.Copy(io.Discard, r)))
}
