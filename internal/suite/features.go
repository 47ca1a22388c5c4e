package suite

import (
	"fmt"
	"maps"

	"github.com/xfn-dev/xfn/internal/composition"
)

// features sets the features of the case. Options.Features have priority.
func (h *inputResolver) features() {
	version := composition.VersionOfProfile(h.form.Profile)
	err := error(nil)
	if h.form.Crossplane != "" {
		version, err = composition.ParseCrossplaneVersion(h.form.Crossplane)
	}
	all := composition.Features{}
	maps.Copy(all, h.form.Features)
	maps.Copy(all, h.options.Features)
	var warnings []string
	if err == nil {
		h.attempt.features, warnings, err = all.In(version)
	}
	if err != nil {
		h.fault(fmt.Errorf("features: %w", err), "features")
	}
	for _, text := range warnings {
		h.sessions.config.Progress.Warn(text)
	}
}
