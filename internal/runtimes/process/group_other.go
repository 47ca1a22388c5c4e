//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// groupAttributes make a process lead a session, and a process group, of its
// own.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// wait waits for the leader to end, then kills the others.
func (g *group) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // how it ended is in cmd.ProcessState
	g.end()
}
