//go:build unix

package process

import (
	"os/exec"
	"sync"
	"syscall"
)

// A group is the process group of a command.
type group struct {
	id int

	mu    sync.Mutex
	ended bool
}

func newGroup(cmd *exec.Cmd) (*group, error) { return &group{id: cmd.Process.Pid}, nil }

func (g *group) terminate() { g.signal(syscall.SIGTERM) }
func (g *group) kill()      { g.signal(syscall.SIGKILL) }

// signal sends a signal to the group. An error means that it has no processes.
func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		_ = syscall.Kill(-g.id, s)
	}
}

// end kills the rest of the group. The group receives no signals afterwards.
func (g *group) end() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}
