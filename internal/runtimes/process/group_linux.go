package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttributes makes a process lead a new session and process group. The
// kernel kills the process when the thread that started it ends, for example by
// kill -9 of this process.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// wait waits for the end of the leader, kills the rest of the group, and then
// reaps the leader. Until then the kernel does not reuse its id, which is also
// the id of the group.
func (g *group) wait(cmd *exec.Cmd) {
	for errors.Is(unix.Waitid(unix.P_PID, g.id, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	g.end()
	_ = cmd.Wait() // the error is in cmd.ProcessState, too
}
