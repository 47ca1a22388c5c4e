//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// groupAttributes makes a process lead a new session and process group.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// wait waits for the end of the group's leader, and then kills the other processes of the
// group.
func (g *group) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // ignore the error: cmd.ProcessState also says how the process ended
	g.end()
}
