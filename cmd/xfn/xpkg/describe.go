package xpkg

import (
	"context"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
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
	err := writeText("SBOM", sbomPath, func() ([]byte, error) {
		packages, err := sbom.Debian(ctx, d.Images)
		if err != nil {
			return nil, err
		}
		return sbom.Write(d.Subject, append(slices.Clone(d.Materials), packages...))
	})
	if err != nil {
		return err
	}
	return writeText("provenance", provenancePath, func() ([]byte, error) {
		return sbom.Provenance(d.Subject, d.Command, d.Parameters, append(slices.Clone(d.Materials), d.Used...))
	})
}

func writeText(what, path string, text func() ([]byte, error)) error {
	if path == "" {
		return nil
	}
	content, err := text()
	if err == nil {
		err = fsx.WriteFile(path, 0o644, content)
	}
	return terminal.Wrap(err, "writing %s %q", what, path)
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
