package flags

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/models"
)

// configure sets the options of p for which the crossplane CLI has settings in its configuration. A
// configuration that does not exist has no settings.
func configure(term *terminal.Terminal, p *project.Project) error {
	path := crossplaneConfig(term)
	text, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var config struct {
		Features struct {
			GenerateGoModelAccessors bool `json:"generateGoModelAccessors"`
			GenerateGoRuntimeObjects bool `json:"generateGoRuntimeObjects"`
		} `json:"features"`
	}
	if err == nil {
		err = manifest.Document{Path: path, Line: 1, Text: text}.Decode(&config)
	}
	if err != nil {
		return fmt.Errorf("reading the configuration of the crossplane CLI: %w", fsx.Cause(err))
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
