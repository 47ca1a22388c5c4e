package xpkg

import (
	"context"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/sbom"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Described is a package whose SBOM and provenance are written.
type Described struct {
	sbom.Subject
	// Images are the images of the package, or the images that the package runs.
	Images []v1.Image
	// Materials are what the images contain besides the compiled source, for the SBOM and the
	// provenance. Used was only used to build them, and is in the provenance only.
	Materials, Used []language.Material
	// Command built the package, with Parameters.
	Command    sbom.Command
	Parameters map[string]any
}

// Write writes the SBOM and the provenance of a package to files, unless their paths are empty.
func (d Described) Write(ctx context.Context, sbomPath, provenancePath string) error {
	if err := d.writeSBOM(ctx, sbomPath); err != nil {
		return err
	}
	return d.writeProvenance(provenancePath)
}

func (d Described) writeSBOM(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	packages, err := sbom.Debian(ctx, d.Images)
	if err == nil {
		var text []byte
		if text, err = sbom.Write(d.Subject, append(slices.Clone(d.Materials), packages...)); err == nil {
			err = fsx.WriteFile(path, 0o644, text)
		}
	}
	if err != nil {
		return fmt.Errorf("writing SBOM %q: %w", path, err)
	}
	return nil
}

func (d Described) writeProvenance(path string) error {
	if path == "" {
		return nil
	}
	text, err := sbom.Provenance(d.Subject, d.Command, d.Parameters, append(slices.Clone(d.Materials), d.Used...))
	if err == nil {
		err = fsx.WriteFile(path, 0o644, text)
	}
	if err != nil {
		return fmt.Errorf("writing provenance %q: %w", path, err)
	}
	return nil
}

// describe writes the files of --sbom and --provenance.
func (c *BuildCmd) describe(ctx context.Context, s sbom.Subject, artifact xpkg.Artifact, built *language.Result) (err error) {
	if s.Digest, err = artifact.Digest(); err != nil {
		return err
	}
	d := Described{Subject: s, Images: built.Images.All, Materials: built.Materials, Command: sbom.PackageBuild, Parameters: c.parameters()}
	return d.Write(ctx, c.SBOM, c.Provenance)
}

// parameters returns the flags that select the runtime image. Credentials of
// registries are not among them.
func (c *BuildCmd) parameters() map[string]any {
	all := map[string]any{"packageRoot": c.PackageRoot}
	for name, value := range map[string]string{
		"runtimeSource": c.EmbedRuntimeSource, "runtimeDir": c.EmbedRuntimeDir, "runtimeImage": c.EmbedRuntimeImage,
		"runtimeTarball": c.EmbedRuntimeImageTarball, "runtimeLayout": c.EmbedRuntimeLayout, "runtimeRemote": c.EmbedRuntimeRemote,
		"language": c.Language, "baseImage": c.BaseImage, "ldflags": c.Ldflags,
	} {
		if value != "" {
			all[name] = value
		}
	}
	for name, values := range map[string][]string{"platforms": c.Platform, "goFlags": c.goFlags(), "entrypoint": c.Entrypoint} {
		if len(values) > 0 {
			all[name] = values
		}
	}
	return all
}
