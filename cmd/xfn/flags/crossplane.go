package flags

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/models"
	"github.com/xfn-dev/xfn/render"
)

// settings has the settings of the crossplane CLI that xfn reads.
type settings struct {
	Features features `json:"features"`
}

type features struct {
	GenerateGoModelAccessors bool `json:"generateGoModelAccessors"`
	GenerateGoRuntimeObjects bool `json:"generateGoRuntimeObjects"`
}

// configure sets the options of p for which the crossplane CLI has settings in its configuration. A
// configuration that does not exist has no settings.
func configure(term *terminal.Terminal, p *project.Project) error {
	path := crossplaneConfig(term)
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %q, the configuration of the crossplane CLI: %w", path, fsx.Cause(err))
	}
	var config settings
	if err := (manifest.Document{Path: path, Line: 1, Text: text}).Decode(&config); err != nil {
		return fmt.Errorf("reading the configuration of the crossplane CLI: %w", err)
	}
	p.GoAccessors = config.Features.GenerateGoModelAccessors
	if config.Features.GenerateGoRuntimeObjects && slices.Contains(p.Languages, models.Go) {
		term.Warn(path + ": features.generateGoRuntimeObjects has no effect: Go models of xfn have no methods for deep copies")
	}
	return nil
}

// crossplaneConfig returns the path of the crossplane CLI's configuration, or "" if there is no home
// directory.
func crossplaneConfig(term *terminal.Terminal) string {
	if path := cmp.Or(term.CrossplaneConfig, os.Getenv("CROSSPLANE_CONFIG")); path != "" {
		return path
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "crossplane", "config.yaml")
}

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
