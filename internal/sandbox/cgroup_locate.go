package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// A hierarchy is a mounted cgroup file system, and the calling process's group in it.
type hierarchy struct {
	mount       string // the mount point
	own         string // the directory of the calling process's group
	unified     bool   // whether this is cgroup v2
	controllers []string
}

func (h hierarchy) controls(controller string) bool {
	return slices.Contains(h.controllers, controller)
}

func (h hierarchy) contains(dir string) bool {
	return dir == h.mount || strings.HasPrefix(dir, strings.TrimSuffix(h.mount, "/")+"/")
}

// locateCgroups returns the cgroup hierarchies in which the calling process can see its own
// group. mountinfo and own are the contents of /proc/self/mountinfo and
// /proc/self/cgroup; see proc_pid_mountinfo(5) and cgroups(7).
func locateCgroups(mountinfo, own string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		fields, source := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 6 || len(source) < 3 {
			continue
		}
		h := hierarchy{mount: unescapeMount(fields[4])}
		switch source[0] {
		case "cgroup2":
			h.unified = true
		case "cgroup":
			h.controllers = strings.Split(source[2], ",")
		default:
			continue
		}
		if h.own, ok = h.place(unescapeMount(fields[3]), own); ok {
			found = append(found, h)
		}
	}
	return found
}

// place returns the directory of the calling process's group, or false if the mount does
// not show that group. root is the directory of the hierarchy that is mounted; own is the
// content of /proc/self/cgroup.
func (h hierarchy) place(root, own string) (string, bool) {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || !h.named(parts[1]) {
			continue
		}
		rel, err := filepath.Rel(root, parts[2])
		if err != nil || !filepath.IsLocal(rel) {
			return "", false
		}
		return filepath.Join(h.mount, rel), true
	}
	return "", false
}

// named reports whether h has the controllers that a line of /proc/self/cgroup lists in
// its second field. For cgroup v2 that field is empty.
func (h hierarchy) named(controllers string) bool {
	if h.unified {
		return controllers == ""
	}
	return controllers != "" && !slices.ContainsFunc(strings.Split(controllers, ","), func(c string) bool { return !h.controls(c) })
}

// unescapeMount decodes the octal escapes, such as \040, in files of /proc.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
