package flags

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/image"
	dependency "github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/remote"
)

// Lock is flags: whether images are taken as they are locked.
type Lock struct {
	Locked   bool   `env:"XFN_LOCKED" help:"Take each image by its digest in the lock file, and none that is not there."`
	LockFile string `placeholder:"FILE" help:"The lock file, of xfn lock. Default: xfn.lock."`

	lock *dependency.Lock
}

// Load reads the lock file, if it is to be used.
func (u *Lock) Load() (err error) {
	if !u.Locked {
		if u.LockFile != "" {
			return &terminal.UsageError{Err: errors.New("--lock-file goes with --locked")}
		}
		return nil
	}
	u.lock, err = dependency.Read(cmp.Or(u.LockFile, dependency.FileName))
	return err
}

// Pin is image.Options.Pin, once Load has read the file: nil without --locked.
func (u Lock) Pin() func(name.Reference) (name.Reference, error) {
	if u.lock == nil {
		return nil
	}
	return u.lock.Pin
}

// Versions says which versions of packages are meant: those that are locked, and
// without --locked those that a registry has, or with Offline the cache.
type Versions struct {
	Lock
	// Parse reads a reference.
	Parse   func(string) (name.Reference, error)
	Remote  *remote.Client
	Offline bool
	// Cache is the folder of the cache.
	Cache string
}

// Reference returns the full reference of a dependency.
func (v Versions) Reference(ctx context.Context, d dependency.Dependency) (_ string, err error) {
	if v.lock != nil {
		return v.lock.Reference(d, v.Parse)
	}
	var tags dependency.Tags = image.Tags{Remote: v.Remote}
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
