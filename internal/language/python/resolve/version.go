package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/proc"
)

// A Version is a version by PEP 440.
type Version struct {
	epoch   uint64
	release []uint64
	// pre is the phase of a pre-release ("a", "b" or "rc"), or "".
	pre  string
	preN uint64
	// post and dev are the numbers of a post-release and of a development release, or nil.
	post, dev *uint64
	local     []string
	text      string
}

// versionPattern matches a version in lower case (PEP 440, appendix B).
var versionPattern = proc.Regexp(`^v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)` +
	`(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]*))?` +
	`(?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]*))?` +
	`(?:[-_.]?(dev)[-_.]?([0-9]*))?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

var phases = map[string]string{"alpha": "a", "a": "a", "beta": "b", "b": "b", "preview": "rc", "pre": "rc", "c": "rc", "rc": "rc"}

// ParseVersion parses a version.
func ParseVersion(text string) (v Version, err error) {
	v.text = strings.TrimSpace(text)
	m := versionPattern().FindStringSubmatch(strings.ToLower(v.text))
	if m == nil {
		return v, fmt.Errorf("%q is not a version, such as 1.2.3", text)
	}
	number := func(s string) (n uint64) {
		if s != "" && err == nil {
			n, err = strconv.ParseUint(s, 10, 64)
		}
		return n
	}
	v.epoch = number(m[1])
	for part := range strings.SplitSeq(m[2], ".") {
		v.release = append(v.release, number(part))
	}
	v.pre, v.preN = phases[m[3]], number(m[4])
	if m[5] != "" || m[6] != "" {
		n := number(m[5] + m[7])
		v.post = &n
	}
	if m[8] != "" {
		n := number(m[9])
		v.dev = &n
	}
	if m[10] != "" {
		v.local = strings.FieldsFunc(m[10], func(r rune) bool { return strings.ContainsRune("-_.", r) })
	}
	if err != nil {
		return v, fmt.Errorf("version %q has a number that is too large", text)
	}
	return v, nil
}

// String returns the version as it was written.
func (v Version) String() string { return v.text }

// Compare returns -1, 0 or +1 if v is before, equal to or after o.
func (v Version) Compare(o Version) int {
	return cmp.Or(v.comparePublic(o), compareLocal(v.local, o.local))
}

// comparePublic is Compare without the local version.
func (v Version) comparePublic(o Version) int {
	return cmp.Or(
		cmp.Compare(v.epoch, o.epoch),
		compareRelease(v.release, o.release),
		cmp.Compare(v.phase(), o.phase()),
		cmp.Compare(v.preN, o.preN),
		compareOptional(v.post, o.post, -1),
		compareOptional(v.dev, o.dev, +1),
	)
}

// phase orders pre-releases before the release. A development release of the release
// itself is before its pre-releases.
func (v Version) phase() int {
	switch {
	case v.pre != "":
		return 1 + slices.Index([]string{"a", "b", "rc"}, v.pre)
	case v.post == nil && v.dev != nil:
		return 0
	default:
		return 4
	}
}

// compareRelease compares two releases. A missing number is zero.
func compareRelease(a, b []uint64) int {
	for i := range max(len(a), len(b)) {
		if c := cmp.Compare(at(a, i), at(b, i)); c != 0 {
			return c
		}
	}
	return 0
}

func at(numbers []uint64, i int) uint64 {
	if i < len(numbers) {
		return numbers[i]
	}
	return 0
}

// compareOptional compares two numbers. missing is the result if only a is nil.
func compareOptional(a, b *uint64, missing int) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return missing
	case b == nil:
		return -missing
	default:
		return cmp.Compare(*a, *b)
	}
}

func compareLocal(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		m, errX := strconv.ParseUint(x, 10, 64)
		n, errY := strconv.ParseUint(y, 10, 64)
		switch {
		case errX == nil && errY == nil:
			return cmp.Compare(m, n)
		case errX == nil:
			return 1
		case errY == nil:
			return -1
		default:
			return cmp.Compare(x, y)
		}
	})
}

func (v Version) isPre() bool { return v.pre != "" || v.dev != nil }

func (v Version) sameRelease(o Version) bool {
	return v.epoch == o.epoch && compareRelease(v.release, o.release) == 0
}
