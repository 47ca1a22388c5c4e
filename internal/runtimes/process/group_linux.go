package process

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttributes make a process lead a session, and a process group, of its
// own, and die when the thread that starts it ends, as by kill -9 of this
// process.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// wait waits for the leader to end, kills the others, and then reaps the
// leader. Until it is reaped its id, and so that of the group, is not given to
// anybody else.
func (g *group) wait(cmd *exec.Cmd) {
	for errors.Is(unix.Waitid(unix.P_PID, g.id, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	g.end()
	_ = cmd.Wait() // how it ended is in cmd.ProcessState
}
