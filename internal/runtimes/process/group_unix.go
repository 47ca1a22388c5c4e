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

// signal sends a signal to the group, unless end was called. It ignores errors, because
// the group may have no processes.
func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		_ = syscall.Kill(-g.id, s)
	}
}

// end kills all processes of the group. Later calls of signal do nothing.
func (g *group) end() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}
