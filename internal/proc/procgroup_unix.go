//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// KillGroup makes cmd, which must not be started yet, the leader of a process group, and
// kills the group when the context of cmd ends. On systems other than Unix, only the
// process of cmd is killed.
func KillGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
