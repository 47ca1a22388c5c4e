package sandbox

import (
	"cmp"
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// images gets the images of functions, and unpacks them.
type images struct {
	cache, registry string
	pull            image.Options
	// files permits images that are paths of this machine.
	files bool
	// hostID and hostGID are the first user id and group id that own the unpacked files;
	// 0 means the default.
	hostID, hostGID int
	// confined means that the images are for functions that sandbox.Confine starts.
	confined bool
	progress progress.Func
}

// unpack returns the unpacked root of an image, and the digest of the image's config. It
// adds the image and the root to open.
func (i images) unpack(ctx context.Context, name string, policy image.Policy, open *fsx.Closers) (*rootfs.Root, v1.Hash, error) {
	img, err := i.image(ctx, name, policy, open)
	if err != nil {
		return nil, v1.Hash{}, err
	}
	// Use the digest of the config, which identifies the content of the layers. The
	// manifest identifies their compressed form; to compute the manifest of a Docker
	// archive would read all layers.
	id, err := img.ConfigName()
	if err != nil {
		return nil, v1.Hash{}, fmt.Errorf("reading the image's config: %w", err)
	}
	if err := image.CheckDir(i.cache); err != nil {
		return nil, v1.Hash{}, err
	}
	i.progress.Step("unpacking " + name)
	root, err := rootfs.Unpack(ctx, img, rootfs.Options{Dir: i.cache, Owner: i.owner(), Shared: image.IsBuild(i.cache, name), Progress: i.progress})
	if err != nil {
		return nil, v1.Hash{}, err
	}
	open.Add(root)
	return root, id, nil
}

// image returns the image with the reference name or, if files is set, at the path name.
func (i images) image(ctx context.Context, name string, policy image.Policy, open *fsx.Closers) (v1.Image, error) {
	if i.files && lock.IsPath(name) {
		file, err := image.OpenLocal(ctx, name, v1.Platform{})
		if err != nil {
			return nil, err
		}
		open.Add(file)
		return file.Image, nil
	}
	request, err := i.request(name, policy)
	if err != nil {
		return nil, err
	}
	store, err := image.Open(i.cache)
	if err != nil {
		return nil, err
	}
	open.Add(store)
	return store.Image(ctx, request, i.pull)
}

func (i images) request(name string, policy image.Policy) (image.Request, error) {
	ref, err := remote.ParseReference(name, i.registry)
	return image.Request{Reference: ref, Policy: policy}, err
}

// owner returns the owner of unpacked files: the first host ids of a sandbox, if this
// process may assign ids, and otherwise nil.
func (i images) owner() *rootfs.Owner {
	if i.confined && !sandbox.Becomes() || !sandbox.MapsIDs() {
		return nil
	}
	uid := cmp.Or(i.hostID, sandbox.DefaultHostID)
	return &rootfs.Owner{UID: uid, GID: cmp.Or(i.hostGID, uid)}
}
