package sandbox

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

// cgroupPrefix begins the name of each control group: xfn-PID-RANDOM, where PID is the process
// id of the creator.
const cgroupPrefix = "xfn-"

// cpuPeriod is the period of the CPU bandwidth controller, in microseconds.
const cpuPeriod = 100_000

// A Cgroup is a control group, version 1 or 2, with limits of memory, CPU and PIDs. It has a
// directory in each cgroup hierarchy that its limits need. A nil *Cgroup has no limits: it
// stands for a control group that could not be created.
type Cgroup struct {
	dirs    []string
	version int
	inForce Limits
}

// MakeCgroup creates a control group as a child or a sibling of the calling process's own
// group. It sets each limit that the system allows, which may be none; [Cgroup.InForce]
// returns the limits that were set.
//
// mountinfo and own are the contents of /proc/self/mountinfo and /proc/self/cgroup. MakeCgroup
// also removes control groups whose creator process no longer exists.
func MakeCgroup(mountinfo, own string, limits Limits) *Cgroup {
	g := &Cgroup{}
	name := fmt.Sprintf("%s%d-%s", cgroupPrefix, os.Getpid(), strings.ToLower(rand.Text()[:8]))
	for _, h := range locateCgroups(mountinfo, own) {
		dir := filepath.Join(h.own, name)
		if h.unified {
			g.makeUnified(h, name, limits)
		} else if h.limits(limits) && g.create(dir, func() Limits { return setOld(dir, h, limits) }) {
			g.version = 1
		}
	}
	return g
}

// InForce returns the limits that the group enforces, and the version of the
// cgroup interface, 1 or 2.
func (g *Cgroup) InForce() (limits Limits, version int) {
	if g == nil {
		return Limits{}, 0
	}
	return g.inForce, g.version
}

// Add puts a process, and every process that it starts later, into the group. If the
// kernel refuses, Add removes the group, and none of its limits is in force. Add does nothing
// for a nil group, which has no limits.
func (g *Cgroup) Add(pid int) error {
	if g == nil {
		return nil
	}
	for _, dir := range g.dirs {
		if err := writeControl(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return errors.Join(fmt.Errorf("adding process %d to cgroup %q: %w", pid, dir, err), g.Remove())
		}
	}
	return nil
}

// Remove removes the group. It fails if the group still contains a process.
func (g *Cgroup) Remove() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, dir := range g.dirs {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing cgroup %q: %w", dir, err))
		}
	}
	g.dirs, g.inForce = nil, Limits{}
	return errors.Join(errs...)
}

// makeUnified creates the group in a cgroup v2 hierarchy. In cgroup v2, only the root
// group can contain processes and also have child groups with limits. makeUnified
// therefore tries to create a child of the caller's group and, if that fails, a sibling.
func (g *Cgroup) makeUnified(h hierarchy, name string, limits Limits) {
	for _, parent := range []string{h.own, filepath.Dir(h.own)} {
		if !h.contains(parent) {
			return
		}
		if parent == h.own {
			for _, controller := range []string{"+memory", "+pids", "+cpu"} {
				// Ignore an error: without the controller, its limit is not set.
				_ = writeControl(parent, "cgroup.subtree_control", controller)
			}
		}
		dir := filepath.Join(parent, name)
		if g.create(dir, func() Limits { return setUnified(dir, limits) }) {
			g.version = 2
			return
		}
	}
}

// create creates the group's directory dir and calls set, which sets the limits. If it
// cannot create the directory or set any limit, create leaves no directory and returns
// false.
func (g *Cgroup) create(dir string, set func() Limits) bool {
	sweepCgroups(filepath.Dir(dir))
	if os.Mkdir(dir, 0o755) != nil {
		return false
	}
	limits := set()
	if limits == (Limits{}) {
		_ = os.Remove(dir) // ignore an error: at worst an empty control group is left
		return false
	}
	g.dirs = append(g.dirs, dir)
	g.inForce.Memory += limits.Memory
	g.inForce.CPU += limits.CPU
	g.inForce.PIDs += limits.PIDs
	return true
}

// sweepCgroups removes the control groups in the directory parent whose creator process no
// longer exists.
func sweepCgroups(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, ours := strings.CutPrefix(e.Name(), cgroupPrefix)
		maker, _, _ := strings.Cut(name, "-")
		pid, err := strconv.Atoi(maker)
		if ours && err == nil && gone(pid) {
			_ = os.Remove(filepath.Join(parent, e.Name())) // ignore an error: the kernel does not remove a group that contains processes
		}
	}
}

// gone reports whether no process has the id pid.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return errors.Is(err, os.ErrProcessDone)
	}
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func setUnified(dir string, limits Limits) (kept Limits) {
	kept.Memory = setLimit(limits.Memory, dir, "memory.max", strconv.FormatInt(limits.Memory, 10))
	if kept.Memory > 0 {
		_ = writeControl(dir, "memory.swap.max", "0")  // ignore an error: the kernel may not account for swap
		_ = writeControl(dir, "memory.oom.group", "1") // ignore an error: Linux before 4.19 lacks this file
	}
	kept.CPU = setLimit(limits.CPU, dir, "cpu.max", fmt.Sprintf("%d %d", cpuQuota(limits.CPU), cpuPeriod))
	kept.PIDs = setLimit(limits.PIDs, dir, "pids.max", strconv.FormatInt(limits.PIDs, 10))
	return kept
}

// limits reports whether a cgroup v1 hierarchy controls something that l limits.
func (h hierarchy) limits(l Limits) bool {
	return l.Memory > 0 && h.controls("memory") || l.CPU > 0 && h.controls("cpu") || l.PIDs > 0 && h.controls("pids")
}

func setOld(dir string, h hierarchy, limits Limits) (kept Limits) {
	if memory := strconv.FormatInt(limits.Memory, 10); h.controls("memory") {
		kept.Memory = setLimit(limits.Memory, dir, "memory.limit_in_bytes", memory)
		// Limit memory and swap together. Ignore an error: the kernel may not account for
		// swap.
		_ = setLimit(kept.Memory, dir, "memory.memsw.limit_in_bytes", memory)
	}
	if h.controls("cpu") {
		kept.CPU = setLimit(limits.CPU, dir, "cpu.cfs_quota_us", strconv.FormatInt(cpuQuota(limits.CPU), 10))
	}
	if h.controls("pids") {
		kept.PIDs = setLimit(limits.PIDs, dir, "pids.max", strconv.FormatInt(limits.PIDs, 10))
	}
	return kept
}

// setLimit writes value, the text of limit, to a file in the group's directory dir. It returns
// limit, or 0 if limit is not positive or the kernel rejects it.
func setLimit(limit int64, dir, file, value string) int64 {
	if limit <= 0 || writeControl(dir, file, value) != nil {
		return 0
	}
	return limit
}

// cpuQuota converts a CPU limit in thousandths of a processor to microseconds per period.
// The kernel rejects a quota below 1 ms, so cpuQuota returns at least 1000.
func cpuQuota(cpu int64) int64 { return max(cpu*cpuPeriod/1000, 1000) }

// writeControl writes value to an existing file of a control group. The kernel creates these
// files; writeControl does not.
func writeControl(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// MemoryLimit returns the lowest memory limit, in bytes, of the calling process's control
// group and its ancestors. It returns 0 if there is no limit or the group cannot be found.
// mountinfo and own are the contents of /proc/self/mountinfo and /proc/self/cgroup.
func MemoryLimit(mountinfo, own string) int64 {
	lowest := int64(0)
	for _, h := range locateCgroups(mountinfo, own) {
		file := "memory.limit_in_bytes"
		if h.unified {
			file = "memory.max"
		}
		for dir := h.own; h.contains(dir); dir = filepath.Dir(dir) {
			if n := readLimit(filepath.Join(dir, file)); n > 0 && (lowest == 0 || n < lowest) {
				lowest = n
			}
			if dir == h.mount {
				break
			}
		}
	}
	return lowest
}

// readLimit returns the number in the cgroup file at path. It returns 0 for the text
// "max", which means no limit, and for an unreadable file.
func readLimit(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
