//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// KillGroup lets cmd, which has not started yet, lead a process group of its
// own, and kills that whole when cmd's context ends. Elsewhere than on Unix
// only the process itself is killed.
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
