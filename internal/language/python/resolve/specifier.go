package resolve

import (
	"fmt"
	"slices"
	"strings"
)

// Specifiers are the conditions of a version specifier, all of which a version must meet.
// An empty list accepts every version.
type Specifiers []specifier

// A specifier is one condition, such as >=1.2 or ==1.2.*.
type specifier struct {
	op      string
	version Version
	// prefix is true for a version that ends in ".*".
	prefix bool
	text   string
}

// operators are the comparisons of PEP 440. A longer operator precedes its prefixes.
var operators = []string{"===", "~=", "==", "!=", "<=", ">=", "<", ">"}

// ParseSpecifiers parses a comma-separated version specifier.
func ParseSpecifiers(text string) (Specifiers, error) {
	var all Specifiers
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		s, err := parseSpecifier(part)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func parseSpecifier(text string) (s specifier, err error) {
	for _, op := range operators {
		if rest, ok := strings.CutPrefix(text, op); ok {
			s.op, s.text = op, strings.TrimSpace(rest)
			break
		}
	}
	if s.op == "" {
		return s, fmt.Errorf("%q is not a version specifier, such as >=1.2", text)
	}
	if s.op == "===" {
		s.version, _ = ParseVersion(s.text)
		return s, nil
	}
	number, prefix := strings.CutSuffix(s.text, ".*")
	s.prefix = prefix
	if s.version, err = ParseVersion(number); err != nil {
		return s, err
	}
	v := s.version
	switch equality := s.op == "==" || s.op == "!="; {
	case s.prefix && (!equality || v.dev != nil || v.local != nil):
		return s, fmt.Errorf("version specifier %q must not end in .*", text)
	case v.local != nil && !equality:
		return s, fmt.Errorf("version specifier %q must not have a local version", text)
	case s.op == "~=" && len(v.release) < 2:
		return s, fmt.Errorf("version specifier %q needs a version with two numbers", text)
	}
	return s, nil
}

// String returns the specifiers, separated by commas.
func (s Specifiers) String() string {
	parts := make([]string, len(s))
	for i, one := range s {
		parts[i] = one.op + one.text
	}
	return strings.Join(parts, ",")
}

// Match reports whether a version meets all specifiers. It accepts pre-releases, because a
// lock file names exact versions.
func (s Specifiers) Match(v Version) bool {
	return !slices.ContainsFunc(s, func(one specifier) bool { return !one.match(v) })
}

// Pinned returns the version of an == specifier without ".*", or false.
func (s Specifiers) Pinned() (Version, bool) {
	for _, one := range s {
		if one.op == "==" && !one.prefix || one.op == "===" {
			return one.version, one.version.text != ""
		}
	}
	return Version{}, false
}

func (s specifier) match(v Version) bool {
	want := s.version
	switch s.op {
	case "===":
		return strings.EqualFold(v.text, s.text)
	case "==":
		return s.equal(v)
	case "!=":
		return !s.equal(v)
	case "<=":
		return v.comparePublic(want) <= 0
	case ">=":
		return v.comparePublic(want) >= 0
	case "<":
		return v.Compare(want) < 0 && (want.isPre() || !v.isPre() || !v.sameRelease(want))
	case ">":
		return v.Compare(want) > 0 && (!v.sameRelease(want) || v.local == nil && (want.post != nil || v.post == nil))
	default: // ~=
		series := Version{epoch: want.epoch, release: want.release[:len(want.release)-1]}
		return v.comparePublic(want) >= 0 && specifier{version: series, prefix: true}.equal(v)
	}
}

// equal reports whether v is the version of s, or begins with it if s is a prefix.
func (s specifier) equal(v Version) bool {
	want := s.version
	switch {
	case !s.prefix && want.local != nil:
		return v.Compare(want) == 0
	case !s.prefix:
		return v.comparePublic(want) == 0
	case v.epoch != want.epoch:
		return false
	case want.pre == "" && want.post == nil:
		return compareRelease(v.release[:min(len(v.release), len(want.release))], want.release) == 0
	default:
		return v.sameRelease(want) && v.pre == want.pre && v.preN == want.preN &&
			(want.post == nil || compareOptional(v.post, want.post, -1) == 0)
	}
}
