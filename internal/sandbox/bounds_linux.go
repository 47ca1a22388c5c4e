package sandbox

import (
	"errors"
	"os"

	"github.com/xfn-dev/xfn/internal/sandbox/cgroup"
)

// bound puts a supervisor, and every process that it starts, into a control
// group. It returns nil if the system does not permit that to this user: then
// resource limits apply instead.
func bound(pid int, l Limits) *cgroup.Group {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	own, ownErr := os.ReadFile("/proc/self/cgroup")
	if errors.Join(err, ownErr) != nil {
		return nil
	}
	group := cgroup.Make(string(mounts), string(own), cgroup.Limits{Memory: l.Memory, CPU: l.CPU, PIDs: l.PIDs})
	if group.Add(pid) != nil {
		return nil
	}
	return group
}

// newReport returns the limits that are in force, without those that only the
// supervisor can determine.
func newReport(s Spec, group *cgroup.Group) Report {
	r := Report{Tmp: s.Limits.Tmp, HostID: os.Geteuid(), IDs: 1, Network: s.Network}
	if MapsIDs() {
		r.HostID, r.IDs = s.HostID, idRange
	}
	kept, version := group.InForce()
	by := map[int]Enforcer{1: CgroupV1, 2: CgroupV2}[version]
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
