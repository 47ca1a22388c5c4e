package composition

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
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
var wordStart = proc.Regexp(`([a-z])([A-Z])`)

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

// The features that change what a render does.
const (
	FeatureFunctions          = "composition-functions"
	FeatureExtraResources     = "composition-functions-extra-resources"
	FeatureSchemaValidation   = "composition-webhook-schema-validation"
	FeatureEnvironmentConfigs = "environment-configs"
	FeatureSecretStores       = "external-secret-stores"
	FeatureOperations         = "operations"
)

// A Feature is a switch of Crossplane.
type Feature struct {
	// Name is the name of Crossplane's flag without --enable-.
	Name string
	// Since and Last are the first and the last version in which the switch has an effect.
	// Until is the last version that accepts the flag. After Last, the feature is always On.
	Since, Last, Until CrossplaneVersion
	On                 bool
	// Effect describes in Markdown how the switch changes a render, or is "" if it does not.
	Effect string
}

// AllFeatures returns all features, sorted by name. The table has the flags --enable-NAME of
// Crossplane v1.11 to v2.4.
func AllFeatures() []Feature {
	return []Feature{
		{
			Name: FeatureFunctions, Since: 111, Last: 116, Until: 120, On: true,
			Effect: "`false`: Crossplane has only the composer for `mode: Resources`. It composes nothing for a Composition of mode Pipeline, and ignores `spec.functions`.",
		},
		{
			Name: FeatureExtraResources, Since: 115, Last: 116, Until: 120, On: true,
			Effect: "`false`: each function is called once, and what it requires is ignored.",
		},
		{Name: "composition-revisions", Since: 111, Last: 111, Until: 120, On: true},
		{
			Name: FeatureSchemaValidation, Since: 112, Last: 120, Until: NewestVersion,
			Effect: "`false`: the patches of Compositions are not compared with schemas, by `expect.valid` of suites, and by the validation of a composed Composition in a render. Errors of integrity remain. Crossplane v2 does not compare them; xfn does, unless it is switched off.",
		},
		{Name: "custom-to-managed-resource-conversion", Since: 200, Last: NewestVersion, Until: NewestVersion},
		{Name: "dependency-version-downgrades", Since: 120, Last: NewestVersion, Until: NewestVersion},
		{Name: "dependency-version-upgrades", Since: 118, Last: NewestVersion, Until: NewestVersion},
		{Name: "deployment-runtime-configs", Since: 114, Last: NewestVersion, Until: NewestVersion},
		{
			Name: FeatureEnvironmentConfigs, Since: 111, Last: 117, Until: 120,
			Effect: "`false`: `spec.environment` of a Composition loads no EnvironmentConfigs. In profile `alpha`, there is no environment, and patches of it have no effect.",
		},
		{
			Name: FeatureSecretStores, Since: 111, Last: 120, Until: NewestVersion,
			Effect: "`true`, in profile `alpha`: a composite resource without `publishConnectionDetailsTo` gets this field from the Composition's `publishConnectionDetailsWithStoreConfigRef`. The `crossplane render` of later versions does not set it.",
		},
		{Name: "function-response-cache", Since: 120, Last: NewestVersion, Until: NewestVersion},
		{
			Name: FeatureOperations, Since: 200, Last: NewestVersion, Until: NewestVersion,
			Effect: "`false`: the render of an Operation fails.",
		},
		{Name: "pipeline-inspector", Since: 202, Last: NewestVersion, Until: NewestVersion},
		{Name: "provider-deletion-protection", Since: 203, Last: NewestVersion, Until: NewestVersion},
		{Name: "realtime-compositions", Since: 114, Last: NewestVersion, Until: NewestVersion},
		{Name: "signature-verification", Since: 118, Last: NewestVersion, Until: NewestVersion},
		{Name: "ssa-claims", Since: 115, Last: NewestVersion, Until: NewestVersion},
		{Name: "usages", Since: 114, Last: NewestVersion, Until: NewestVersion},
	}
}
