package sandbox

import (
	"os"
	"sync"

	"github.com/xfn-dev/xfn/internal/sandbox/cgroup"
)

// bounds are the limits that this process enforces on a sandbox from outside.
type bounds struct {
	group  *cgroup.Group
	remove func() error
}

// bound puts a supervisor, and every process that it starts, into a control
// group, as far as the system permits this user to.
func bound(pid int, l Limits) *bounds {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return unbound()
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return unbound()
	}
	group := cgroup.Make(string(mounts), string(own), cgroup.Limits{Memory: l.Memory, CPU: l.CPU, PIDs: l.PIDs})
	if group.Add(pid) != nil {
		return unbound() // resource limits apply instead
	}
	return &bounds{group, sync.OnceValue(group.Remove)}
}

func unbound() *bounds { return &bounds{remove: func() error { return nil }} }

// report returns the limits that are in force, without those that only the
// supervisor can determine.
func (b *bounds) report(s Spec) Report {
	r := Report{Tmp: s.Limits.Tmp, HostID: os.Geteuid(), IDs: 1, Network: s.Network}
	if MapsIDs() {
		r.HostID, r.IDs = s.HostID, idRange
	}
	var kept cgroup.Limits
	by := Nothing
	if b.group != nil {
		var version int
		kept, version = b.group.InForce()
		by = map[int]Enforcer{1: CgroupV1, 2: CgroupV2}[version]
	}
	r.Memory = limit(s.Limits.Memory, kept.Memory, by, minData)
	r.PIDs = limit(s.Limits.PIDs, kept.PIDs, by, 1)
	if kept.CPU > 0 {
		r.CPU = Limit{kept.CPU, by}
	}
	return r
}

// limit returns the limit in force: the one that the control group enforces, or
// else a resource limit of at least the value least.
func limit(asked, kept int64, by Enforcer, least int64) Limit {
	switch {
	case kept > 0:
		return Limit{kept, by}
	case asked > 0:
		return Limit{max(asked, least), Rlimit}
	}
	return Limit{}
}
