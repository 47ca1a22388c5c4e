package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	packages "github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/sbom"
	"github.com/xfn-dev/xfn/internal/project"
)

// describe writes the files of --sbom and --provenance for each package. The provenance of the
// Configuration has the functions that it depends on.
func (c *BuildCmd) describe(ctx context.Context, program terminal.Program, p *project.Project, set *project.Set) error {
	for _, dir := range []string{c.SBOM, c.Provenance} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making the directory %q: %w", dir, fsx.Cause(err))
		}
	}
	var used []language.Material
	for i, pkg := range set.Packages() {
		digest, err := pkg.Artifact.Digest()
		if err != nil {
			return fmt.Errorf("computing the digest of %q: %w", pkg.Repository, err)
		}
		d := packages.Described{
			Subject: sbom.Subject{Name: pkg.Repository, Digest: digest, Tool: "xfn-" + program.Version, Created: time.Unix(0, 0).UTC()},
			Command: sbom.ProjectBuild, Parameters: map[string]any{"projectFile": filepath.Base(p.Path), "repository": p.Repository},
		}
		if len(c.Platform) > 0 {
			d.Parameters["platforms"] = c.Platform
		}
		if i < len(set.Functions) {
			f := set.Functions[i]
			d.Images, d.Materials, d.Parameters["function"] = f.Images, f.Materials, f.Function
			used = append(used, language.Material{Name: pkg.Repository, PURL: language.ImagePURL(pkg.Repository, digest, ""), Digest: digest.String()})
		} else {
			d.Images, d.Used = []v1.Image{set.Configuration}, used
		}
		if err := d.Write(ctx, fileIn(c.SBOM, pkg), fileIn(c.Provenance, pkg)); err != nil {
			return err
		}
	}
	return nil
}

// fileIn returns the file of a package in a folder, or "" without a folder.
func fileIn(dir string, pkg project.BuiltPackage) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, pkg.Name()+".json")
}
