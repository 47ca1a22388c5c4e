package sandbox

import (
	"os"
	"sync"

	"github.com/xfn-dev/xfn/internal/sandbox/cgroup"
)

// bounds are the limits that this process keeps over a sandbox, from outside.
type bounds struct {
	group  *cgroup.Group
	remove func() error
}

// bound puts a supervisor, and so all it will start, into a control group, as
// far as the system lets this user do it.
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
		return unbound() // resource limits are the other way
	}
	return &bounds{group, sync.OnceValue(group.Remove)}
}

func unbound() *bounds { return &bounds{remove: func() error { return nil }} }

// report returns what will be in force, save for what the supervisor finds out.
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

// limit is a limit in force: the one that is kept, or else a resource limit of
// at least some value.
func limit(asked, kept int64, by Enforcer, least int64) Limit {
	switch {
	case kept > 0:
		return Limit{kept, by}
	case asked > 0:
		return Limit{max(asked, least), Rlimit}
	}
	return Limit{}
}
