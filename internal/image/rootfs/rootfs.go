package rootfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
)

// Options say where and how to unpack an image. Only Dir is required.
type Options struct {
	// Dir is the directory of the store. Unpack creates it if it does not exist.
	Dir string
	// Owner is the owner of the unpacked files. Nil means the user of this process.
	Owner *Owner
	// Shared says that the last layer often changes, as in images of source code. The store
	// then also keeps a root of the other layers, to whose files such roots have hard links.
	Shared bool
	Limits
	// Progress receives the number of bytes of the stored layers that were read.
	Progress progress.Func
}

// idRange is the number of ids that an Owner maps. nobody replaces all other ids of an
// image.
const (
	idRange = 1 << 16
	nobody  = idRange - 2
)

// An Owner maps the user and group ids 0 to 65535 of an image to ids of the host that begin
// at UID and GID. In a user namespace with the same map, the files have the ids of the
// image. To unpack with an Owner, the process needs CAP_CHOWN and CAP_FOWNER.
type Owner struct{ UID, GID int }

func (o Owner) of(uid, gid int) (int, int) {
	if uid < 0 || uid >= idRange {
		uid = nobody
	}
	if gid < 0 || gid >= idRange {
		gid = nobody
	}
	return o.UID + uid, o.GID + gid
}

// Limits restrict what an image may use. Zero means the default.
type Limits struct {
	// Bytes limits both the total size of the files and the total size of the uncompressed
	// layers. The default is 8 GiB.
	Bytes int64
	// Entries limits the number of entries in all layers, plus directories without an entry.
	// The default is 262144.
	Entries int
	// PathBytes limits the length in bytes of a path or link target. The default is 4096.
	PathBytes int
	// Depth limits the number of nested directories. The default is 64.
	Depth int
}

func (l Limits) orDefaults() Limits {
	return Limits{cmp.Or(l.Bytes, 8<<30), cmp.Or(l.Entries, 1<<18), cmp.Or(l.PathBytes, 4096), cmp.Or(l.Depth, 64)}
}

// A Root is an unpacked root file system. Callers must not write to it, because other
// processes may use it.
type Root struct {
	// Path is the directory of the root. Its parent directory is accessible only to its owner,
	// because files of the image may be writable by everyone.
	Path string
	// Config is the image's configuration of a container, such as its entrypoint.
	Config v1.Config

	lease *os.File
}

// Close ends the use of the root. Afterwards Prune may remove the root.
func (r *Root) Close() error { return r.lease.Close() }

// Unpack returns the root file system of img. The caller must close it. If the store
// already has the root, Unpack reads only the image's config. If several processes or
// goroutines unpack the same image, only one does so and the others wait. After an error, no
// part of the root is left.
//
// Layers are applied in order (OCI image spec, "Image Layer Filesystem Changeset") and must
// match the DiffIDs of the config. Modes and modification times of files and directories are
// kept; Python needs the times to use its compiled files. Setuid and setgid bits, extended
// attributes, device nodes and pipes are not kept: processes could communicate through some
// of them. Links are never followed out of the root. A link in the path of an entry must
// lead to a directory of the image.
func Unpack(ctx context.Context, img v1.Image, o Options) (*Root, error) {
	if errSystem != nil {
		return nil, fmt.Errorf("unpacking the image: %w", errSystem)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's config: %w", err)
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, fmt.Errorf("reading the image's layers: %w", err)
	}
	all := stack{layers, config.RootFS.DiffIDs}
	e := entryOf(o.Dir, all.diffIDs, o.Owner)
	lease, err := all.get(ctx, e, o)
	if err == nil && mayNotRun(lease) {
		err = errors.Join(hint.Wrap(fmt.Errorf("programs cannot run from %q: its file system is mounted noexec", o.Dir), "set XFN_CACHE_DIR to a directory of another file system"), lease.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking the image: %w", err)
	}
	return &Root{Path: e.root(), Config: config.Config, lease: lease}, nil
}

type stack struct {
	layers  []v1.Layer
	diffIDs []v1.Hash
}

func (s stack) get(ctx context.Context, e entry, o Options) (*os.File, error) {
	if last := len(s.layers) - 1; o.Shared && last > 0 && len(s.layers) == len(s.diffIDs) {
		lease, err := e.get(ctx, func(dir *os.Root) error { return s.extend(ctx, last, dir, o) })
		if err == nil || ctx.Err() != nil {
			return lease, err
		}
	}
	return e.get(ctx, func(dir *os.Root) error { return s.unpack(ctx, 0, nil, dir, o) })
}

// extend fills dir with a clone of the root of the first n layers, and the other layers.
func (s stack) extend(ctx context.Context, n int, dir *os.Root, o Options) (err error) {
	lower := stack{s.layers[:n], s.diffIDs[:n]}
	e := entryOf(o.Dir, lower.diffIDs, o.Owner)
	lease, err := e.get(ctx, func(dir *os.Root) error { return lower.unpack(ctx, 0, nil, dir, o) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Close()) }()
	root, err := os.OpenRoot(e.root())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return s.unpack(ctx, n, root, dir, o)
}

// unpack fills dir with a clone of lower, the root of the first n layers, and applies the
// other layers. lower is nil if n is 0.
func (s stack) unpack(ctx context.Context, n int, lower, dir *os.Root, o Options) error {
	if len(s.layers) != len(s.diffIDs) {
		return fmt.Errorf("the image has %d layers, but the config lists %d", len(s.layers), len(s.diffIDs))
	}
	count := &progress.Counter{Text: "unpacking", Report: o.Progress}
	for _, l := range s.layers[n:] {
		size, err := l.Size()
		if err != nil {
			return fmt.Errorf("reading the size of a layer: %w", err)
		}
		count.Total += size
	}
	t, err := newTree(dir, o.Owner, o.Limits.orDefaults())
	if err == nil && lower != nil {
		err = t.cloneRoot(ctx, lower)
	}
	if err != nil {
		return fsx.Cause(err)
	}
	left := t.limits.Bytes - t.content
	for i, l := range s.layers[n:] {
		if err := t.layer(ctx, oci.CountedLayer{Layer: l, Counter: count}, s.diffIDs[n+i], &left); err != nil {
			_ = t.leaveTo(1)
			return fmt.Errorf("layer %d: %w", n+i+1, err)
		}
	}
	count.Finish()
	return fsx.Cause(t.finish())
}
