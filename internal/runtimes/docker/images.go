package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/moby/moby/api/types/registry"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

type engineImage struct {
	// name is the name for users; id is the engine's id of the image.
	name, id string
	platform string
}

// An imageEntry caches an image. Its gate lets one caller at a time load or pull the image.
type imageEntry struct {
	gate  gate
	image engineImage // zero until the engine has the image
}

// image returns a function's image. It loads or pulls the image if necessary.
func (d *Docker) image(ctx context.Context, engine *dockerengine.Engine, fn runtimes.Function, s settings) (engineImage, error) {
	from := cmp.Or(s.image, fn.Package)
	value, _ := d.images.LoadOrStore(string(s.policy)+" "+from, &imageEntry{gate: make(gate, 1)})
	entry := value.(*imageEntry)
	leave, err := entry.gate.enter(ctx)
	if err != nil {
		return engineImage{}, err
	}
	defer leave()
	if entry.image != (engineImage{}) {
		return entry.image, nil
	}
	var img engineImage
	if s.image == "" && lock.IsPath(from) {
		img, err = d.load(ctx, engine, from)
	} else {
		img, err = d.resolve(ctx, engine, from, s.policy)
	}
	if err != nil && s.image == "" && fn.PackagePosition != "" {
		err = fmt.Errorf("%s: %w", fn.PackagePosition, err)
	}
	if err == nil {
		entry.image = img
	}
	return img, err
}

// resolve returns the image with the name from. It pulls the image if the pull policy
// says so.
func (d *Docker) resolve(ctx context.Context, engine *dockerengine.Engine, from string, policy image.Policy) (engineImage, error) {
	names, policy, err := d.names(from, policy)
	if err != nil {
		return engineImage{}, err
	}
	if policy != image.Always || d.Offline {
		img, err := findImage(ctx, engine, names)
		if err == nil || !errdefs.IsNotFound(err) {
			return img, err
		}
	}
	if policy == image.Never || d.Offline {
		err := fmt.Errorf("the engine does not have image %q, and pulling is not permitted", from)
		if d.Offline {
			return engineImage{}, hint.Wrap(err, "run it once without "+hint.Offline)
		}
		return engineImage{}, hint.Wrap(err, "load the image into the engine, or change the annotation "+AnnotationPullPolicy)
	}
	if err := d.pull(ctx, engine, names[0]); err != nil {
		return engineImage{}, err
	}
	return findImage(ctx, engine, names[:1])
}

// names returns the names under which the engine may have an image, and the pull policy
// to use. The first is pulled. A name with a registry comes before a name without one, and the
// name that Rewrite returns before both. The policy Always
// becomes IfNotPresent for an image that is pinned to a digest.
func (d *Docker) names(from string, policy image.Policy) ([]string, image.Policy, error) {
	full := d.qualify(from)
	if d.Pin == nil {
		return slices.Compact([]string{d.rewritten(full), full, from}), policy, nil
	}
	ref, err := name.ParseReference(full)
	if err != nil {
		return nil, "", fmt.Errorf("parsing image name %q: %w", from, err)
	}
	if ref, err = d.Pin(ref); err != nil {
		return nil, "", err
	}
	if policy == image.Always {
		policy = image.IfNotPresent
	}
	return slices.Compact([]string{d.rewritten(ref.Name()), ref.Name()}), policy, nil
}

func (d *Docker) rewritten(from string) string {
	if d.Rewrite == nil {
		return from
	}
	return d.Rewrite(from)
}

// findImage returns the first image in names that the engine has. If the engine has no
// such image, the error is a not-found error of the engine.
func findImage(ctx context.Context, engine *dockerengine.Engine, names []string) (img engineImage, err error) {
	for _, name := range names {
		found, inspectErr := engine.ImageInspect(ctx, name)
		if inspectErr == nil {
			return engineImage{name: name, id: found.ID, platform: found.Os + "/" + found.Architecture}, nil
		}
		if err = engine.Explain(ctx, inspectErr); !errdefs.IsNotFound(inspectErr) {
			return engineImage{}, fmt.Errorf("inspecting image %q: %w", name, err)
		}
	}
	return engineImage{}, err
}

// qualify adds the default registry to an image name without a registry.
func (d *Docker) qualify(from string) string {
	if d.Registry == "" {
		return from
	}
	ref, err := name.ParseReference(from, name.WithDefaultRegistry(d.Registry))
	if err != nil || ref.Context().RegistryStr() != d.Registry || strings.HasPrefix(from, d.Registry+"/") {
		return from
	}
	return d.Registry + "/" + from
}

// pull makes the engine pull an image. If the credentials cannot be read, it warns and
// pulls without credentials.
func (d *Docker) pull(ctx context.Context, engine *dockerengine.Engine, from string) error {
	leave, err := d.slots.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	d.Progress.Step("pulling " + from)
	ref, err := name.ParseReference(from)
	if err != nil {
		return fmt.Errorf("parsing image name %q: %w", from, err)
	}
	known, err := d.Remote.Credentials(ctx, ref)
	if err != nil {
		d.Progress.Warn(fmt.Sprintf("pulling %q without credentials: %v", from, err))
	}
	err = engine.Pull(ctx, from, credentials(known, ref), d.Progress)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("pulling image %q: %w", from, err)
	if known == (authn.AuthConfig{}) && isDenied(err) {
		return hint.Wrap(err, "if the image is private, log in with: docker login "+ref.Context().RegistryStr())
	}
	if isUnreachable(err) {
		return hint.Wrap(err, "check the network and the proxy of the engine, which pulls the image; or load the image into the engine, and use "+hint.Offline)
	}
	return err
}

// credentials converts the credentials for a registry to the engine's type.
func credentials(c authn.AuthConfig, ref name.Reference) registry.AuthConfig {
	if c == (authn.AuthConfig{}) {
		return registry.AuthConfig{}
	}
	return registry.AuthConfig{
		Username: c.Username, Password: c.Password, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken,
		ServerAddress: ref.Context().RegistryStr(),
	}
}

// isDenied reports whether err says that a registry denied access. An engine has no error
// code for this, and only passes on the registry's text.
func isDenied(err error) bool {
	text := strings.ToLower(err.Error())
	for _, word := range []string{"unauthorized", "denied", "no basic auth credentials", "authentication required"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return errdefs.IsUnauthorized(err) || errdefs.IsPermissionDenied(err)
}

// isUnreachable reports whether err says that the engine cannot connect to a registry. The
// engine only passes on the text of the failure.
func isUnreachable(err error) bool {
	return slices.ContainsFunc([]string{"dial tcp", "no such host", "connection refused", "i/o timeout", "network is unreachable", "Client.Timeout"}, func(text string) bool {
		return strings.Contains(err.Error(), text)
	})
}

// load loads the image of a package file or an OCI layout into the engine, unless the
// engine has the image.
func (d *Docker) load(ctx context.Context, engine *dockerengine.Engine, path string) (_ engineImage, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, "oci-layout")); err != nil {
			return engineImage{}, hint.Wrap(fmt.Errorf("%q is a folder without an OCI image layout", path), "build a package from the folder, or use the runtime Process")
		}
	}
	platform, err := engine.Platform(ctx)
	if err != nil {
		return engineImage{}, err
	}
	file, err := image.OpenLocal(ctx, path, platform)
	if err != nil {
		return engineImage{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	tag, err := dockerengine.TagFor(file.Image)
	if err != nil {
		return engineImage{}, fmt.Errorf("reading %q: %w", path, err)
	}
	img, err := findImage(ctx, engine, []string{tag.Name()})
	if errdefs.IsNotFound(err) {
		d.Progress.Step("loading " + path)
		if err := engine.Load(ctx, tag, file.Image); err != nil {
			return engineImage{}, fmt.Errorf("loading %q: %w", path, err)
		}
		img, err = findImage(ctx, engine, []string{tag.Name()})
	}
	img.name = path
	return img, err
}
