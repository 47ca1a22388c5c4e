package composition

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A CrossplaneVersion is a minor version: 100 times the major version, and the minor version.
type CrossplaneVersion int

// NewestVersion is the last version of a switch that today's Crossplane still has.
const NewestVersion CrossplaneVersion = 1 << 30

// String returns the version in the form v2.4.
func (v CrossplaneVersion) String() string { return fmt.Sprintf("v%d.%d", v/100, v%100) }

// ParseCrossplaneVersion parses a version of Crossplane, such as v1.16 or v1.16.2.
func ParseCrossplaneVersion(text string) (CrossplaneVersion, error) {
	v, err := semver.NewVersion(text)
	if err != nil || v.Minor() > 99 || v.Major() > 99 {
		return 0, fmt.Errorf("%q is not a version of Crossplane: expected the form v2.1", text)
	}
	return CrossplaneVersion(v.Major()*100 + v.Minor()), nil
}

// VersionOfProfile returns the newest version that a profile of package render imitates.
func VersionOfProfile(profile string) CrossplaneVersion {
	switch profile {
	case "classic":
		return 202
	case "v1.20":
		return 120
	case "v1.14":
		return 114
	case "alpha":
		return 113
	default:
		return 204
	}
}

// Features are the features that are switched on (true) or off (false), by their names.
type Features map[string]bool

// Off reports whether a feature is switched off. It is false for a feature that is not set.
func (s Features) Off(name string) bool {
	on, set := s[name]
	return set && !on
}

// ParseFeatures parses assignments such as usages=false. Of several for a feature, the last one applies.
func ParseFeatures(assignments []string) (Features, error) {
	all := Features{}
	for _, a := range assignments {
		name, value, ok := strings.Cut(a, "=")
		on, err := strconv.ParseBool(value)
		if !ok || err != nil {
			return nil, fmt.Errorf("expected NAME=true or NAME=false, got %q", a)
		}
		f, err := findFeature(name)
		if err != nil {
			return nil, err
		}
		all[f.Name] = on
	}
	return all, nil
}

// In returns the settings that apply to a version of Crossplane, and warnings about settings
// that change nothing. It returns an error for unknown features, and for features that the
// version does not have.
func (s Features) In(v CrossplaneVersion) (applied Features, warnings []string, err error) {
	applied = Features{}
	var errs []error
	for _, name := range manifest.Keys(s) {
		on := s[name]
		f, err := findFeature(name)
		if err == nil {
			err = f.refuse(v, on)
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case v > f.Last && on != f.On:
			warnings = append(warnings, fmt.Sprintf("Crossplane %s ignores the switch %s: since %s, the feature is always %s", v, f.Name, versionAfter(f.Last), map[bool]string{true: "on", false: "off"}[f.On]))
		default:
			applied[f.Name] = on
			if f.Effect == "" {
				warnings = append(warnings, fmt.Sprintf("the switch %s has no effect on a render", f.Name))
			}
		}
	}
	return applied, warnings, errors.Join(errs...)
}

// refuse returns an error if a version of Crossplane does not start with the setting. A feature
// may be switched off in the versions before it.
func (f Feature) refuse(v CrossplaneVersion, on bool) error {
	switch {
	case v < f.Since && on:
		return hint.Wrap(fmt.Errorf("version %s of Crossplane has no feature %s: expected %s or later", v, f.Name, f.Since), "imitate another version of Crossplane")
	case v > f.Until:
		return hint.Wrap(fmt.Errorf("version %s of Crossplane has no switch %s: %s was the last version with it, and %s the last in which it had an effect", v, f.Name, f.Until, f.Last),
			"imitate another version of Crossplane")
	}
	return nil
}

// versionAfter returns the version after a last minor version of Crossplane v1 or v2. v1.20 was the last
// of v1.
func versionAfter(v CrossplaneVersion) CrossplaneVersion {
	if v == 120 {
		return 200
	}
	return v + 1
}

// wordStart matches the beginning of a word in a Go name.
var wordStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z])([A-Z])`) })

// findFeature returns the feature with a name. The name may also be the flag, such as
// --enable-usages, or the name in Crossplane's log, such as EnableBetaUsages.
func findFeature(name string) (Feature, error) {
	short := strings.TrimPrefix(strings.TrimLeft(name, "-"), "enable-")
	if logged, ok := strings.CutPrefix(short, "Enable"); ok {
		logged = strings.TrimPrefix(strings.TrimPrefix(logged, "Alpha"), "Beta")
		short = strings.ToLower(wordStart().ReplaceAllString(strings.Replace(logged, "ClaimSSA", "SsaClaims", 1), "$1-$2"))
	}
	all := AllFeatures()
	names := make([]string, len(all))
	for i, f := range all {
		if names[i] = f.Name; f.Name == short {
			return f, nil
		}
	}
	err := fmt.Errorf("%q is not a feature of Crossplane", name)
	if near := hint.Nearest(short, names); near != "" {
		return Feature{}, hint.Wrap(err, "did you mean "+near+"? The features are "+strings.Join(names, ", "))
	}
	return Feature{}, hint.Wrap(err, "the features are "+strings.Join(names, ", "))
}
