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

// Options say where and how to unpack. Only Dir is needed.
type Options struct {
	// Dir is the directory of the store, which is made if it is not there.
	Dir string
	// Owner is whom the files belong to. With nil they are all the caller's.
	Owner *Owner
	Limits
	// Progress is told how many bytes of the layers, as they are stored, have
	// been read.
	Progress progress.Func
}

// idRange is how many ids an Owner has. An id of the image that is beyond them
// becomes nobody's.
const (
	idRange = 1 << 16
	nobody  = idRange - 2
)

// An Owner gives the ids 0 to 65535 of an image to as many ids of the host,
// from UID and GID on, as a user namespace with such a map will show them.
// The caller needs the right to change owners (CAP_CHOWN and CAP_FOWNER).
type Owner struct{ UID, GID int }

// of returns the ids on the host for those in an image.
func (o Owner) of(uid, gid int) (int, int) {
	return o.UID + withinRange(uid), o.GID + withinRange(gid)
}

func withinRange(id int) int {
	if id < 0 || id >= idRange {
		return nobody
	}
	return id
}

// Limits bound what an image may make of a disk. Zero means the default.
type Limits struct {
	// Bytes is how large all files, and all layers as they are read, may be
	// together. The default is 8 GiB.
	Bytes int64
	// Entries is how many entries the layers may have together, directories
	// that no entry names included. The default is 262144.
	Entries int
	// PathBytes is how long the name of an entry, and the target of a link, may
	// be. The default is 4096.
	PathBytes int
	// Depth is how many directories may lie in each other. The default is 64.
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

// A Root is an unpacked root file system. Others may use it at the same time,
// so nobody may write to it.
type Root struct {
	// Path is its directory. Only its owner may enter the directory above: files
	// that anyone may write are the image's matter, and not that of the host.
	Path string
	// Config is how the image is to be run.
	Config v1.Config

	lease *os.File
}

// Release ends the use of the root, which Prune may remove from then on.
func (r *Root) Release() error { return r.lease.Close() }

// Unpack returns the root file system of img, whose Release must be called. It
// is unpacked if the store has it not yet; else only the image's config is read.
// Callers that ask for the same root at the same time, in any process, wait for
// the first of them. After an error nothing of the root is left.
//
// Layers are applied in their order (OCI image spec, "Image Layer Filesystem
// Changeset") and have to match the DiffIDs of the config. Modes of files and
// directories and their times of modification are kept; Python trusts its
// compiled files by the latter. Not kept are setuid and setgid bits, extended
// attributes, and device nodes and pipes: through a pipe, runs that share a root
// could reach each other. A link is never followed out of the root: a directory
// that an entry lies in may be a link only if it leads to a directory that the
// image has.
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
		err = errors.Join(hint.Wrap(fmt.Errorf("no program may be run in %q: its file system is mounted noexec", o.Dir), "name another cache by XFN_CACHE_DIR"), lease.Close())
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
		return fmt.Errorf("it has %d layers, and its config describes %d", len(layers), len(diffIDs))
	}
	meter, err := newMeter(layers, o.Progress)
	if err != nil {
		return err
	}
	t, err := newTree(dir, o.Owner, o.Limits.orDefaults())
	if err != nil {
		return fsx.Cause(err)
	}
	left := t.limits.Bytes
	for i, l := range layers {
		if err := t.layer(ctx, metered{l, meter}, diffIDs[i], &left); err != nil {
			t.abandon()
			return fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	if err := t.finish(); err != nil {
		return fsx.Cause(err)
	}
	return nil
}
