//go:build linux

package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// mountinfo returns a line of /proc/self/mountinfo: the directory root of a cgroup
// hierarchy is mounted at the path mount.
func mountinfo(mount, root, fstype, options string) string {
	return "36 35 98:0 " + root + " " + mount + " rw,noatime shared:1 - " + fstype + " none " + options + "\n"
}

// A group is nil if the system has no cgroups.
func TestNilCgroup(t *testing.T) {
	var g *sandbox.Cgroup
	e2e.NoError(t, errors.Join(g.Add(os.Getpid()), g.Remove()))
}

func TestMakeCgroupFailsQuietly(t *testing.T) {
	limits := sandbox.Limits{Memory: 64 << 20, CPU: 500, PIDs: 10}
	dir := t.TempDir()
	readOnly := filepath.Join(dir, "nothing")
	for _, tc := range []struct{ name, reason, mountinfo, own string }{
		{"Nothing", "no cgroups are mounted", "", "0::/\n"},
		{"Garbage", "malformed kernel files are ignored", "- - -\n36 x - cgroup2\n - cgroup\n", ":::\n::\n0\n"},
		{"Missing", "the group does not exist", mountinfo(readOnly, "/", "cgroup2", "rw"), "0::/a\n"},
		{"NoControllers", "a group without controller files is removed", mountinfo(dir, "/", "cgroup2", "rw"), "0::/\n"},
		{"Outside", "the group is above the mount", mountinfo(dir, "/a/b", "cgroup2", "rw"), "0::/c\n"},
		{"Climbing", "the group begins with ..", mountinfo(dir, "/", "cgroup2", "rw"), "0::/../..\n"},
		{"Old", "version 1 without files", mountinfo(dir, "/", "cgroup", "rw,memory"), "4:memory:/\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := sandbox.MakeCgroup(tc.mountinfo, tc.own, limits)
			if got, _ := g.InForce(); got != (sandbox.Limits{}) {
				t.Errorf("InForce(): got %+v, want nothing: %s", got, tc.reason)
			}
			e2e.WantError(t, tc.reason+": there is nothing to remove", g.Remove(), "")
			e2e.Empty(t, dir)
		})
	}
}

// TestMakeCgroup checks that the kernel's cgroup files contain the limits that InForce returns.
// The system that runs the test may support no limit.
func TestMakeCgroup(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Skip(err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip(err)
	}
	want := sandbox.Limits{Memory: 64 << 20, CPU: 500, PIDs: 10}
	g := sandbox.MakeCgroup(string(mounts), string(own), want)
	kept, version := g.InForce()
	if kept == (sandbox.Limits{}) {
		t.Skip("this user cannot create groups here")
	}
	files := map[int][]string{1: {"memory.limit_in_bytes", "cpu.cfs_quota_us", "pids.max"}, 2: {"memory.max", "cpu.max", "pids.max"}}[version]
	values := map[string]string{"memory.limit_in_bytes": "67108864", "cpu.cfs_quota_us": "50000", "memory.max": "67108864", "cpu.max": "50000 100000", "pids.max": "10"}
	got, expected := map[string]string{}, map[string]string{}
	for i, limit := range []int64{kept.Memory, kept.CPU, kept.PIDs} {
		if limit > 0 {
			expected[files[i]] = values[files[i]]
			got[files[i]] = findControl(t, string(mounts), files[i])
		}
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("MakeCgroup(%+v): the groups' files (-want +got):\n%s", want, diff)
	}
	e2e.WantError(t, "the group can be removed", g.Remove(), "")
	e2e.WantError(t, "a group that was removed is not an error", g.Remove(), "")
	for _, file := range files {
		e2e.Equal(t, fmt.Sprintf("after Remove() there is a group with %s", file), "", findControl(t, string(mounts), file))
	}
}

// findControl returns the content of a file in the control group that this process created.
func findControl(t *testing.T, mounts, file string) string {
	t.Helper()
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 5 || !strings.Contains(line, "cgroup") {
			continue
		}
		found := ""
		err := filepath.WalkDir(fields[4], func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return nil // ignore the error: cgroups of other processes appear and disappear
			}
			if d.Name() == file && strings.Contains(path, "/xfn-"+itoa(os.Getpid())+"-") {
				data, err := os.ReadFile(path)
				if err == nil {
					found = strings.TrimSpace(string(data))
				}
			}
			return nil
		})
		e2e.NoError(t, err)
		if found != "" {
			return found
		}
	}
	return ""
}

// TestMakeCgroupSweeps checks that MakeCgroup removes the control groups whose creator process no
// longer exists.
func TestMakeCgroupSweeps(t *testing.T) {
	dir := t.TempDir()
	const pidMax = "4194305" // one more than the largest process id
	for _, name := range []string{"xfn-" + pidMax + "-abc", "xfn-" + itoa(os.Getpid()) + "-abc", "xfn-other", "unlike"} {
		e2e.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	sandbox.MakeCgroup(mountinfo(dir, "/", "cgroup", "rw,pids"), "8:pids:/\n", sandbox.Limits{PIDs: 1})
	e2e.Equal(t, "only the group whose process has ended is removed", []string{"unlike", "xfn-" + itoa(os.Getpid()) + "-abc", "xfn-other"}, e2e.Names(t, dir))
}

func FuzzMakeCgroup(f *testing.F) {
	f.Add(mountinfo("/nowhere", "/", "cgroup2", "rw"), "0::/\n")
	f.Add(mountinfo(`/no\040where`, "/a", "cgroup", "rw,memory,cpu"), "4:cpu,memory:/a/b\n")
	f.Fuzz(func(t *testing.T, mountinfo, own string) {
		if strings.Contains(mountinfo, "/") {
			mountinfo = strings.ReplaceAll(mountinfo, "/", "/nowhere/") // prepend a missing directory, so that MakeCgroup changes no real control group
		}
		if strings.Contains(mountinfo, "..") {
			return
		}
		if got, _ := sandbox.MakeCgroup(mountinfo, own, sandbox.Limits{PIDs: 1}).InForce(); got != (sandbox.Limits{}) {
			t.Errorf("got %+v in force", got)
		}
	})
}
