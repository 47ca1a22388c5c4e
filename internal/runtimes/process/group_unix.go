//go:build unix

package process

import (
	"os/exec"
	"sync"
	"syscall"
)

// A group is the process group that a command leads.
type group struct {
	id int

	mu    sync.Mutex
	ended bool
}

func newGroup(cmd *exec.Cmd) (*group, error) { return &group{id: cmd.Process.Pid}, nil }

func (g *group) terminate() { g.signal(syscall.SIGTERM) }
func (g *group) kill()      { g.signal(syscall.SIGKILL) }

// signal fails only for a group that has nobody in it.
func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		_ = syscall.Kill(-g.id, s)
	}
}

// end kills what is left of the group, which gets no signals after that.
func (g *group) end() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}
