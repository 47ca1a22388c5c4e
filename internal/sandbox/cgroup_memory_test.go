//go:build linux

package sandbox_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

func TestMemoryLimit(t *testing.T) {
	cases := map[string]struct {
		reason, kind, options, own string
		files                      map[string]string
		want                       int64
	}{
		"Own":      {"version 2 has the limit of the own group", "cgroup2", "rw", "0::/a/b\n", map[string]string{"a/b/memory.max": "1000\n"}, 1000},
		"Above":    {"the limit of a group above is lower", "cgroup2", "rw", "0::/a/b\n", map[string]string{"a/b/memory.max": "1000\n", "a/memory.max": "500\n"}, 500},
		"Mount":    {"a container's own group is the mount itself", "cgroup2", "rw", "0::/\n", map[string]string{"memory.max": "700\n"}, 700},
		"None":     {"max means no limit", "cgroup2", "rw", "0::/a/b\n", map[string]string{"a/b/memory.max": "max\n"}, 0},
		"Version1": {"version 1 has another file", "cgroup", "rw,memory", "4:memory:/a\n", map[string]string{"a/memory.limit_in_bytes": "900\n"}, 900},
		"NoFile":   {"a system without the files has no limit", "cgroup2", "rw", "0::/a/b\n", nil, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e2e.WriteFiles(t, dir, tc.files)
			e2e.Equal(t, tc.reason, tc.want, sandbox.MemoryLimit(mountinfo(dir, "/", tc.kind, tc.options), tc.own))
		})
	}
}
