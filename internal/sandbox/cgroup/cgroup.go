package cgroup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Limits bounds a group. Zero is no limit.
type Limits struct {
	Memory int64 // bytes
	CPU    int64 // thousandths of one processor
	PIDs   int64 // threads
}

// A group is named after this, the process that made it, and chance.
const prefix = "xfn-"

// period is that of the processor's bandwidth control, in microseconds.
const period = 100_000

// A Group is a control group, in as many hierarchies as it takes. A nil Group
// is one that could not be made.
type Group struct {
	dirs    []string
	version int
	inForce Limits
}

// Make makes a group below the one that the calling process is in, or beside
// it, with those of the limits that the system keeps for this caller. Which
// these are, [Group.InForce] tells; it may be none.
//
// mountinfo and own are the contents of /proc/self/mountinfo and
// /proc/self/cgroup. Groups that processes left behind when they were killed are
// removed on the way.
func Make(mountinfo, own string, limits Limits) *Group {
	g := &Group{}
	name := fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), strings.ToLower(rand.Text()[:8]))
	for _, h := range locate(mountinfo, own) {
		if h.unified {
			g.makeUnified(h, name, limits)
		} else {
			g.makeOld(h, name, limits)
		}
	}
	return g
}

// InForce returns the limits that the group keeps, and the version of the
// interface by which it does, 1 or 2.
func (g *Group) InForce() (limits Limits, version int) { return g.inForce, g.version }

// Add puts a process, and all it starts from then on, into the group. If that
// is refused the group is removed, and nothing of it is in force.
func (g *Group) Add(pid int) error {
	for _, dir := range g.dirs {
		if err := write(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return errors.Join(fmt.Errorf("adding process %d to cgroup %q: %w", pid, dir, err), g.Remove())
		}
	}
	return nil
}

// Remove removes the group, in which no process may be left.
func (g *Group) Remove() error {
	var errs []error
	for _, dir := range g.dirs {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing cgroup %q: %w", dir, err))
		}
	}
	g.dirs, g.inForce = nil, Limits{}
	return errors.Join(errs...)
}

// makeUnified makes the group in version 2. A group that has processes can have
// no groups with limits below it, but for the root: so the next place to try is
// beside the caller's own.
func (g *Group) makeUnified(h hierarchy, name string, limits Limits) {
	for _, parent := range []string{h.own, filepath.Dir(h.own)} {
		if !h.contains(parent) {
			return
		}
		if parent == h.own {
			// Whoever may not, or has no such controller, gets less limits.
			_ = write(parent, "cgroup.subtree_control", "+memory")
			_ = write(parent, "cgroup.subtree_control", "+pids")
			_ = write(parent, "cgroup.subtree_control", "+cpu")
		}
		dir := filepath.Join(parent, name)
		kept := g.settle(dir, func() Limits { return setUnified(dir, limits) })
		if kept {
			g.version = 2
			return
		}
	}
}

// makeOld makes the group in one hierarchy of version 1.
func (g *Group) makeOld(h hierarchy, name string, limits Limits) {
	dir := filepath.Join(h.own, name)
	if g.settle(dir, func() Limits { return setOld(dir, h, limits) }) {
		g.version = 1
	}
}

// settle makes a directory and keeps it if one limit at least could be set.
func (g *Group) settle(dir string, set func() Limits) bool {
	sweep(filepath.Dir(dir))
	if os.Mkdir(dir, 0o755) != nil {
		return false
	}
	limits := set()
	if limits == (Limits{}) {
		_ = os.Remove(dir) // empty, and at worst an empty group is left
		return false
	}
	g.dirs = append(g.dirs, dir)
	g.inForce.Memory += limits.Memory
	g.inForce.CPU += limits.CPU
	g.inForce.PIDs += limits.PIDs
	return true
}

// sweep removes the groups below parent whose makers are no more.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), prefix)
		maker, _, _ := strings.Cut(name, "-")
		pid, err := strconv.Atoi(maker)
		if ours && err == nil && gone(pid) {
			_ = os.Remove(filepath.Join(parent, e.Name())) // refused while it is in use
		}
	}
}

// gone tells whether there is no such process.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return errors.Is(err, os.ErrProcessDone)
	}
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func setUnified(dir string, limits Limits) (kept Limits) {
	if limits.Memory > 0 && write(dir, "memory.max", strconv.FormatInt(limits.Memory, 10)) == nil {
		kept.Memory = limits.Memory
		_ = write(dir, "memory.swap.max", "0")  // there may be no swap to bound
		_ = write(dir, "memory.oom.group", "1") // since Linux 4.19
	}
	if limits.CPU > 0 && write(dir, "cpu.max", fmt.Sprintf("%d %d", quota(limits.CPU), period)) == nil {
		kept.CPU = limits.CPU
	}
	if limits.PIDs > 0 && write(dir, "pids.max", strconv.FormatInt(limits.PIDs, 10)) == nil {
		kept.PIDs = limits.PIDs
	}
	return kept
}

func setOld(dir string, h hierarchy, limits Limits) (kept Limits) {
	if h.controls("memory") && limits.Memory > 0 && write(dir, "memory.limit_in_bytes", strconv.FormatInt(limits.Memory, 10)) == nil {
		kept.Memory = limits.Memory
		// Memory and swap together; there may be no such accounting.
		_ = write(dir, "memory.memsw.limit_in_bytes", strconv.FormatInt(limits.Memory, 10))
	}
	if h.controls("cpu") && limits.CPU > 0 && write(dir, "cpu.cfs_quota_us", strconv.FormatInt(quota(limits.CPU), 10)) == nil {
		kept.CPU = limits.CPU
	}
	if h.controls("pids") && limits.PIDs > 0 && write(dir, "pids.max", strconv.FormatInt(limits.PIDs, 10)) == nil {
		kept.PIDs = limits.PIDs
	}
	return kept
}

// quota is how many microseconds of a period a share of a processor is. The
// kernel takes no less than a millisecond.
func quota(cpu int64) int64 { return max(cpu*period/1000, 1000) }

// write writes to a file of a group, which the kernel has made.
func write(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
