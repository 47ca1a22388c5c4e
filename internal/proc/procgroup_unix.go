//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// KillGroup makes cmd, which must not be started yet, the leader of a process
// group, and kills the group when cmd's context ends. On other systems than
// Unix only the process itself is killed.
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
