package rootfs

import (
	"context"
	"errors"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
)

// Options configure where and how to unpack. Only Dir is required.
type Options struct {
	// Dir is the directory of the store. Unpack creates it if it does not
	// exist.
	Dir string
	// Owner is the owner of the files. If it is nil, the caller owns all of
	// them.
	Owner *Owner
	Limits
	// Progress receives how many stored bytes of the layers have been read.
	Progress progress.Func
}

// idRange is the number of ids of an Owner. Ids of the image outside of the
// range become nobody.
const (
	idRange = 1 << 16
	nobody  = idRange - 2
)

// An Owner maps the ids 0 to 65535 of an image to ids of the host, beginning at
// UID and GID. A user namespace with the same map shows the original ids. The
// caller needs CAP_CHOWN and CAP_FOWNER.
type Owner struct{ UID, GID int }

// of returns the ids on the host for ids of the image.
func (o Owner) of(uid, gid int) (int, int) {
	return o.UID + withinRange(uid), o.GID + withinRange(gid)
}

func withinRange(id int) int {
	if id < 0 || id >= idRange {
		return nobody
	}
	return id
}

// Limits restrict what an image may use. Zero means the default.
type Limits struct {
	// Bytes limits the total size of the files, and of the layers as they
	// are read. The default is 8 GiB.
	Bytes int64
	// Entries limits the number of entries in all layers, including
	// directories without an entry. The default is 262144.
	Entries int
	// PathBytes limits the length of an entry's name and of a link's
	// target. The default is 4096.
	PathBytes int
	// Depth limits the number of nested directories. The default is 64.
	Depth int
}

func (l Limits) orDefaults() Limits {
	set(&l.Bytes, 8<<30)
	set(&l.Entries, 1<<18)
	set(&l.PathBytes, 4096)
	set(&l.Depth, 64)
	return l
}

func set[T int | int64](n *T, def T) {
	if *n == 0 {
		*n = def
	}
}

// A Root is an unpacked root file system. Other processes may use it at the
// same time, so it must not be written to.
type Root struct {
	// Path is the directory of the root. Only its owner can enter the
	// parent directory, so that other users of the host cannot access files
	// that the image permits everyone to write.
	Path string
	// Config is the image's configuration for running it.
	Config v1.Config

	lease *os.File
}

// Release ends the use of the root. Prune may remove it afterwards.
func (r *Root) Release() error { return r.lease.Close() }

// Unpack returns the root file system of img. The caller must call Release.
// Unpack reads only the image's config if the store has the root already.
// Concurrent calls for one root, from any process, wait for the first of them.
// After an error no part of the root is left.
//
// Layers are applied in order (OCI image spec, "Image Layer Filesystem
// Changeset"), and must match the DiffIDs of the config. Modes and modification
// times of files and directories are kept; Python needs the times to use its
// compiled files. Setuid and setgid bits, extended attributes, device nodes and
// pipes are not kept: processes that share a root could communicate through a
// pipe. A link is never followed out of the root. The parent directory of an
// entry may be a link only if the link leads to a directory of the image.
func Unpack(ctx context.Context, img v1.Image, o Options) (*Root, error) {
	if errSystem != nil {
		return nil, fmt.Errorf("unpacking the image: %w", errSystem)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's config: %w", err)
	}
	e := entryOf(o.Dir, config.RootFS.DiffIDs, o.Owner)
	lease, err := e.get(ctx, func(dir *os.Root) error { return unpack(ctx, img, config.RootFS.DiffIDs, dir, o) })
	if err == nil && mayNotRun(lease) {
		err = errors.Join(hint.Wrap(fmt.Errorf("programs cannot run from %q: its file system is mounted noexec", o.Dir), "name another cache by XFN_CACHE_DIR"), lease.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking the image: %w", err)
	}
	return &Root{Path: e.root(), Config: config.Config, lease: lease}, nil
}

// unpack unpacks an image into an empty directory.
func unpack(ctx context.Context, img v1.Image, diffIDs []v1.Hash, dir *os.Root, o Options) error {
	layers, err := img.Layers()
	if err != nil {
		return fmt.Errorf("reading its layers: %w", err)
	}
	if len(layers) != len(diffIDs) {
		return fmt.Errorf("it has %d layers, but its config lists %d", len(layers), len(diffIDs))
	}
	count := &progress.Counter{Text: "unpacking", Report: o.Progress}
	for _, l := range layers {
		size, err := l.Size()
		if err != nil {
			return fmt.Errorf("reading the size of a layer: %w", err)
		}
		count.Total += size
	}
	t, err := newTree(dir, o.Owner, o.Limits.orDefaults())
	if err != nil {
		return fsx.Cause(err)
	}
	left := t.limits.Bytes
	for i, l := range layers {
		if err := t.layer(ctx, meteredLayer{l, count}, diffIDs[i], &left); err != nil {
			_ = t.leaveTo(1)
			return fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	count.Finish()
	return fsx.Cause(t.finish())
}
