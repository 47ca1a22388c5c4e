package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/moby/moby/api/types/registry"

	"github.com/xfn-dev/xfn/internal/dockerengine"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// An engineImage is one that the engine has.
type engineImage struct {
	// name is as a person knows it, id the engine's.
	name, id string
	platform string
}

// images are those that the engine was asked for, each once.
type images struct {
	mu    sync.Mutex
	names map[string]*known
}

// A known image is looked for by one caller at a time.
type known struct {
	gate  chan struct{}
	image *engineImage
}

func (i *images) entry(name string) *known {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.names[name] == nil {
		i.names[name] = &known{gate: make(chan struct{}, 1)}
	}
	return i.names[name]
}

// image returns a function's image, which it loads or pulls if it has to.
func (d *Docker) image(ctx context.Context, engine *dockerengine.Engine, fn runtimes.Function, s settings) (engineImage, error) {
	from := fn.Package
	if s.image != "" {
		from = s.image
	}
	k := d.images.entry(string(s.policy) + " " + from)
	select {
	case k.gate <- struct{}{}:
		defer func() { <-k.gate }()
	case <-ctx.Done():
		return engineImage{}, context.Cause(ctx)
	}
	if k.image != nil {
		return *k.image, nil
	}
	var img engineImage
	var err error
	if s.image == "" && isLocal(from) {
		img, err = d.load(ctx, engine, from)
	} else {
		img, err = d.get(ctx, engine, from, s.policy)
	}
	if err != nil {
		return engineImage{}, err
	}
	k.image = &img
	return img, nil
}

// isLocal reports whether a package is a file or a folder. An image may have the
// name of a folder that happens to be here, so one without a slash or a suffix is
// none.
func isLocal(pkg string) bool {
	return filepath.IsAbs(pkg) || strings.HasPrefix(pkg, ".") || strings.HasSuffix(pkg, ".xpkg")
}

// get returns an image by its name, as the policy says.
func (d *Docker) get(ctx context.Context, engine *dockerengine.Engine, from string, policy image.Policy) (engineImage, error) {
	names, policy, err := d.names(from, policy)
	if err != nil {
		return engineImage{}, err
	}
	if policy != image.Always || d.Offline {
		img, err := look(ctx, engine, names)
		if err == nil || !errdefs.IsNotFound(err) {
			return img, err
		}
	}
	if policy == image.Never || d.Offline {
		err := fmt.Errorf("the engine has no image %q, and must not pull it", from)
		if d.Offline {
			return engineImage{}, hint.Wrap(err, "run it once without "+hint.Offline)
		}
		return engineImage{}, hint.Wrap(err, "load the image, or change the annotation "+AnnotationPullPolicy)
	}
	if err := d.pull(ctx, engine, names[0]); err != nil {
		return engineImage{}, err
	}
	return look(ctx, engine, names[:1])
}

// names are those by which an image may be known to the engine, the fullest
// first. What is pinned has one, and there is no need to ask always what it means.
func (d *Docker) names(from string, policy image.Policy) ([]string, image.Policy, error) {
	full := d.qualify(from)
	switch {
	case d.Pin == nil && full != from:
		return []string{full, from}, policy, nil
	case d.Pin == nil:
		return []string{from}, policy, nil
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
	return []string{ref.Name()}, policy, nil
}

// look returns the first image of these names that the engine has.
func look(ctx context.Context, engine *dockerengine.Engine, names []string) (img engineImage, err error) {
	for _, name := range names {
		found, inspectErr := engine.ImageInspect(ctx, name)
		if inspectErr == nil {
			return engineImage{name: name, id: found.ID, platform: found.Os + "/" + found.Architecture}, nil
		}
		if err = engine.Explain(ctx, inspectErr); !errdefs.IsNotFound(inspectErr) {
			return engineImage{}, fmt.Errorf("looking for image %q: %w", name, err)
		}
	}
	return engineImage{}, err
}

// qualify puts the registry before a name that has none.
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

// pull pulls an image. Credentials that cannot be read keep nobody from what is
// public.
func (d *Docker) pull(ctx context.Context, engine *dockerengine.Engine, from string) error {
	done, err := d.slot(ctx)
	if err != nil {
		return err
	}
	defer done()
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
	return err
}

// credentials are as an engine takes them.
func credentials(c authn.AuthConfig, ref name.Reference) registry.AuthConfig {
	if c == (authn.AuthConfig{}) {
		return registry.AuthConfig{}
	}
	return registry.AuthConfig{
		Username: c.Username, Password: c.Password, IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken,
		ServerAddress: ref.Context().RegistryStr(),
	}
}

// isDenied recognises what engines pass on of a registry's refusal: they have no
// code for it.
func isDenied(err error) bool {
	text := strings.ToLower(err.Error())
	for _, word := range []string{"unauthorized", "denied", "no basic auth credentials", "authentication required"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return errdefs.IsUnauthorized(err) || errdefs.IsPermissionDenied(err)
}

// load gives the engine the image of a file or folder, unless it has it.
func (d *Docker) load(ctx context.Context, engine *dockerengine.Engine, path string) (_ engineImage, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, "oci-layout")); err != nil {
			return engineImage{}, hint.Wrap(fmt.Errorf("%q is a folder, and no OCI image layout", path), "build a package of it, or use the runtime Process")
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
	img, err := look(ctx, engine, []string{tag.Name()})
	if errdefs.IsNotFound(err) {
		d.Progress.Step("loading " + path)
		if err := engine.Load(ctx, tag, file.Image); err != nil {
			return engineImage{}, fmt.Errorf("loading %q: %w", path, err)
		}
		img, err = look(ctx, engine, []string{tag.Name()})
	}
	img.name = path
	return img, err
}
