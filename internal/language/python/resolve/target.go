package resolve

import (
	"fmt"
	"slices"
	"strings"
)

// A Target is the system that wheels are selected for: CPython on Linux.
type Target struct {
	// Arch is GOARCH: amd64 or arm64.
	Arch string
	// Minor is the Python version 3.Minor. Patch is its third number.
	Minor, Patch int
	// Musl is true for musl libc instead of glibc. LibcMajor and LibcMinor are the version of
	// the libc.
	Musl                 bool
	LibcMajor, LibcMinor int
}

// machines maps GOARCH to the name of the processor in Python.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// legacy are the names of manylinux platforms before PEP 600, by the minor version of glibc.
var legacy = map[int]string{17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}

// Machine returns the name of the target's processor in Python, such as "x86_64".
func (t Target) Machine() (string, error) {
	machine, ok := machines[t.Arch]
	if !ok {
		return "", fmt.Errorf("Python functions can be built for amd64 and arm64, not for %q", t.Arch)
	}
	return machine, nil
}

// Python returns the target's Python version, such as "3.13".
func (t Target) Python() string { return fmt.Sprintf("3.%d", t.Minor) }

// Full returns the target's full Python version, such as "3.13.5".
func (t Target) Full() Version {
	v, _ := ParseVersion(fmt.Sprintf("3.%d.%d", t.Minor, t.Patch)) // the text is always a version
	return v
}

// String returns the target as in "linux/amd64 with Python 3.13 and glibc 2.41".
func (t Target) String() string {
	libc := "glibc"
	if t.Musl {
		libc = "musl"
	}
	return fmt.Sprintf("linux/%s with Python %s and %s %d.%d", t.Arch, t.Python(), libc, t.LibcMajor, t.LibcMinor)
}

// Environment returns the values that markers compare, for a package with these extras.
func (t Target) Environment(extras ...string) Environment {
	full := t.Full().String()
	return Environment{Extras: extras, Values: map[string]string{
		"os_name": "posix", "sys_platform": "linux", "platform_machine": machines[t.Arch], "platform_python_implementation": "CPython",
		"platform_release": "", "platform_system": "Linux", "platform_version": "", "python_version": t.Python(),
		"python_full_version": full, "implementation_name": "cpython", "implementation_version": full,
	}}
}

// platforms returns the platform tags of the target, the most specific first (PEP 600, 656).
func (t Target) platforms() []string {
	machine := machines[t.Arch]
	var all []string
	switch {
	case t.Musl:
		for minor := t.LibcMinor; minor >= 0; minor-- {
			all = append(all, fmt.Sprintf("musllinux_%d_%d_%s", t.LibcMajor, minor, machine))
		}
	default:
		oldest := 17
		if t.Arch == "amd64" {
			oldest = 5
		}
		for minor := t.LibcMinor; minor >= oldest; minor-- {
			all = append(all, fmt.Sprintf("manylinux_%d_%d_%s", t.LibcMajor, minor, machine))
			if name, ok := legacy[minor]; ok {
				all = append(all, name+"_"+machine)
			}
		}
	}
	return append(all, "linux_"+machine)
}

// Tags returns the compatibility tags of the target, the preferred first: built for this
// version of Python, for its stable ABI or the stable ABI of an older version, for
// Python on this platform, and for each platform.
func (t Target) Tags() []string {
	var all []string
	add := func(python, abi string, platforms ...string) {
		for _, p := range platforms {
			all = append(all, python+"-"+abi+"-"+p)
		}
	}
	platforms, own := t.platforms(), fmt.Sprintf("cp3%d", t.Minor)
	pythons := []string{fmt.Sprintf("py3%d", t.Minor), "py3"}
	for minor := t.Minor - 1; minor >= 0; minor-- {
		pythons = append(pythons, fmt.Sprintf("py3%d", minor))
	}
	add(own, own, platforms...)
	for minor := t.Minor; minor >= 2; minor-- {
		add(fmt.Sprintf("cp3%d", minor), "abi3", platforms...)
		if minor == t.Minor {
			add(own, "none", platforms...)
		}
	}
	for _, python := range pythons {
		add(python, "none", platforms...)
	}
	add(own, "none", "any")
	for _, python := range pythons {
		add(python, "none", "any")
	}
	return all
}

// Supports reports whether one of the tags, which may be compressed, is a tag of the target.
func (t Target) Supports(tags []string) bool {
	own := t.Tags()
	return slices.ContainsFunc(tags, func(compressed string) bool {
		expanded, err := expandTags(strings.TrimSpace(compressed))
		return err == nil && slices.ContainsFunc(expanded, func(tag string) bool { return slices.Contains(own, tag) })
	})
}
