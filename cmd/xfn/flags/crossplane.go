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
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/models"
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
