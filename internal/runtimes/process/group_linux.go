package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttributes makes a process lead a new session and process group. The kernel kills
// the process when the thread that started it ends, for example because this process is
// killed.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// wait waits for the end of the group's leader, kills the other processes of the group,
// and then reaps the leader. Until the leader is reaped, the kernel does not reuse its
// process id, which is also the id of the group.
func (g *group) wait(cmd *exec.Cmd) {
	for errors.Is(unix.Waitid(unix.P_PID, g.id, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	g.end()
	_ = cmd.Wait() // ignore the error: cmd.ProcessState also says how the process ended
}
