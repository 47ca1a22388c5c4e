package flags

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	dependency "github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/remote"
)

// Lock are the flags for the lock file.
type Lock struct {
	Locked   bool   `more:"" env:"XFN_LOCKED" help:"Use each image by its digest in the lock file. An image that the file does not have is an error."`
	LockFile string `more:"" placeholder:"FILE" help:"The lock file that xfn lock wrote. Default: xfn.lock."`

	lock *dependency.Lock
	// free are the full references that Pin returns unchanged.
	free *sync.Map
}

// Load reads the lock file if --locked is set and Use has set no lock.
func (u *Lock) Load() (err error) {
	u.Allow()
	if !u.Locked {
		if u.LockFile != "" {
			return &terminal.UsageError{Err: errors.New("--lock-file requires --locked")}
		}
		return nil
	}
	if u.lock != nil {
		return nil
	}
	u.lock, err = dependency.Read(cmp.Or(u.LockFile, dependency.FileName))
	if file, _, none := project.Find(""); none == nil && errors.Is(err, fs.ErrNotExist) {
		return hint.Wrap(err, "write the lock file with xfn lock, as in xfn lock "+hint.Word(file))
	}
	return hint.Wrap(err, cmp.Or(hint.Of(err), "write the lock file with xfn lock, as in xfn lock functions.yaml"))
}

// Use makes l the lock, in place of the lock file that Load reads. Call it before Load.
func (u *Lock) Use(l *dependency.Lock) { u.lock = l }

// Content returns the lock, nil without --locked. Call Load first.
func (u Lock) Content() *dependency.Lock { return u.lock }

// Allow lets Pin return images that the lock does not have unchanged, by their full references.
// Copies of u that are made after the first call of Allow or Load share these references.
func (u *Lock) Allow(images ...string) {
	if u.free == nil {
		u.free = &sync.Map{}
	}
	for _, full := range images {
		u.free.Store(full, true)
	}
}

// Pin returns a value for image.Options.Pin, nil without --locked. Call Load first.
func (u Lock) Pin() func(name.Reference) (name.Reference, error) {
	if u.lock == nil {
		return nil
	}
	return func(ref name.Reference) (name.Reference, error) {
		pinned, err := u.lock.Pin(ref)
		if err != nil && u.free != nil {
			if _, allowed := u.free.Load(ref.Name()); allowed {
				return ref, nil
			}
		}
		return pinned, err
	}
}

// BaseReference returns the reference from which a function's base image is fetched: rewritten,
// and with the locked digest if pin is not nil. The lock may have the reference itself, as
// project files and languages name it, or the rewritten reference.
func (f Registries) BaseReference(reference string, rewrite func(string) string, pin func(name.Reference) (name.Reference, error)) (name.Reference, error) {
	from := reference
	if rewrite != nil {
		from = rewrite(reference)
	}
	ref, err := f.Reference(from)
	if err != nil || pin == nil {
		return ref, err
	}
	named, err := f.Reference(reference)
	if err != nil {
		return nil, err
	}
	pinned, err := pin(named)
	if err != nil {
		if pinned, _ = pin(ref); pinned == nil {
			return nil, hint.Wrap(err, "lock it with xfn lock --base-image "+reference+", and name the other files, too")
		}
	}
	return ref.Context().Digest(pinned.Identifier()), nil
}

// Versions resolves versions of packages: from the lock file with --locked, else from
// the cache if Offline is set, else from the registry.
type Versions struct {
	Lock
	// Parse parses the reference of a package.
	Parse  func(string) (name.Reference, error)
	Remote *remote.Client
	// Rewrite has the meaning of image.Options.Rewrite.
	Rewrite func(string) string
	Offline bool
	// Cache is the directory of the cache.
	Cache string
}

// Reference returns the full reference of a dependency.
func (v Versions) Reference(ctx context.Context, d dependency.Dependency) (_ string, err error) {
	if v.lock != nil {
		return v.lock.Reference(d, v.Parse)
	}
	var tags dependency.Tags = image.Tags{Remote: v.Remote, Rewrite: v.Rewrite}
	if v.Offline {
		store, err := image.Open(v.Cache)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		tags = image.CachedTags{Store: store}
	}
	ref, err := d.Resolve(ctx, tags, v.Parse)
	if err != nil {
		return "", d.At(err)
	}
	return ref.Name(), nil
}
