package flags

import (
	"fmt"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/render"
)

// Features is the flag for features of Crossplane.
type Features struct {
	Feature []string `more:"" sep:"none" placeholder:"NAME=BOOL" help:"Switch a feature of Crossplane on or off, such as composition-functions-extra-resources=false. Repeatable."`
}

// Settings returns the features that the flag switches on or off.
func (f Features) Settings() (composition.Features, error) {
	all, err := composition.ParseFeatures(f.Feature)
	return all, terminal.Wrap(err, "--feature")
}

// For returns the features for a version of Crossplane or, if it is "", for a profile. It warns of
// settings without an effect.
func (f Features) For(term *terminal.Terminal, version string, profile render.Profile) (composition.Features, error) {
	all, err := f.Settings()
	if err != nil {
		return nil, err
	}
	v := composition.VersionOfProfile(string(profile))
	if version != "" {
		if v, err = composition.ParseCrossplaneVersion(version); err != nil {
			return nil, fmt.Errorf("--crossplane-version: %w", err)
		}
	}
	all, warnings, err := all.In(v)
	if err != nil {
		return nil, fmt.Errorf("--feature: %w", err)
	}
	for _, text := range warnings {
		term.Warn(text)
	}
	return all, nil
}
