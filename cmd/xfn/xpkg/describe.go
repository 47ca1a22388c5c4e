package xpkg

import (
	"context"
	"fmt"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/sbom"
	"github.com/xfn-dev/xfn/xpkg"
)

// describe writes the files of --sbom and --provenance.
func (c *BuildCmd) describe(ctx context.Context, s sbom.Subject, artifact xpkg.Artifact, built *language.Result) (err error) {
	if s.Digest, err = artifact.Digest(); err != nil {
		return err
	}
	if c.SBOM != "" {
		if err := writeSBOM(ctx, c.SBOM, s, built); err != nil {
			return fmt.Errorf("writing SBOM %q: %w", c.SBOM, err)
		}
	}
	if c.Provenance == "" {
		return nil
	}
	text, err := sbom.Provenance(s, c.parameters(), built.Materials)
	if err == nil {
		err = fsx.WriteFile(c.Provenance, 0o644, text)
	}
	if err != nil {
		return fmt.Errorf("writing provenance %q: %w", c.Provenance, err)
	}
	return nil
}

func writeSBOM(ctx context.Context, path string, s sbom.Subject, built *language.Result) error {
	packages, err := sbom.Debian(ctx, built.Images.All)
	if err != nil {
		return err
	}
	text, err := sbom.Write(s, append(built.Materials, packages...))
	if err != nil {
		return err
	}
	return fsx.WriteFile(path, 0o644, text)
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
