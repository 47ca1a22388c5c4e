//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// groupAttributes makes a process lead a new session and process group.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// wait waits for the end of the leader, then kills the rest of the group.
func (g *group) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // the error is in cmd.ProcessState, too
	g.end()
}
