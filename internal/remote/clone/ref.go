package clone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/xfn-dev/xfn/internal/proc"
)

var (
	fullHash  = proc.Regexp(`^[0-9a-fA-F]{40}$`)
	shortHash = proc.Regexp(`^[0-9a-fA-F]{4,39}$`)
)

// lookup returns the hash of the branch or tag that ref names, and the value for
// Snapshot.Ref. It returns false if there is no such branch or tag, and for every full
// hash: otherwise a branch whose name is a hash could replace the commit with that hash.
func lookup(refs storer.ReferenceStorer, ref string) (plumbing.Hash, string, bool) {
	for _, name := range candidates(ref) {
		if name.Validate() != nil {
			continue
		}
		found, err := storer.ResolveReference(refs, name)
		if err != nil {
			continue
		}
		if found.Name().IsBranch() {
			return found.Hash(), found.Name().Short(), true
		}
		return found.Hash(), "HEAD", true
	}
	return plumbing.ZeroHash, "", false
}

func candidates(ref string) []plumbing.ReferenceName {
	switch {
	case ref == "" || ref == "HEAD":
		return []plumbing.ReferenceName{plumbing.HEAD}
	case fullHash().MatchString(ref):
		return nil
	case strings.HasPrefix(ref, "refs/"):
		return []plumbing.ReferenceName{plumbing.ReferenceName(ref)}
	}
	return []plumbing.ReferenceName{
		plumbing.NewBranchReferenceName(ref),
		plumbing.NewTagReferenceName(ref),
		plumbing.ReferenceName("refs/" + ref),
	}
}

// expand returns the one commit whose hash begins with prefix.
func expand(ctx context.Context, objects storer.EncodedObjectStorer, prefix string) (plumbing.Hash, error) {
	commits, err := objects.IterEncodedObjects(plumbing.CommitObject)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("listing commits: %w", err)
	}
	defer commits.Close()
	prefix = strings.ToLower(prefix)
	var found plumbing.Hash
	err = commits.ForEach(func(o plumbing.EncodedObject) error {
		hash := o.Hash()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !strings.HasPrefix(hash.String(), prefix) || hash == found:
			return nil
		case !found.IsZero():
			return fmt.Errorf("%q is the prefix of more than one commit hash", prefix)
		}
		found = hash
		return nil
	})
	if err == nil && found.IsZero() {
		err = notFound(prefix)
	}
	return found, err
}

func notFound(ref string) error {
	return fmt.Errorf("the repository has no branch, tag or commit %q", ref)
}

func missing(refs storer.ReferenceStorer, ref string) error {
	iter, err := refs.IterReferences()
	some := false
	if err == nil {
		defer iter.Close()
		err = iter.ForEach(func(r *plumbing.Reference) error {
			some = some || r.Type() == plumbing.HashReference
			return nil
		})
	}
	switch {
	case err != nil:
		return fmt.Errorf("listing references: %w", err)
	case !some:
		return errEmpty
	default:
		return notFound(cmp.Or(ref, "HEAD"))
	}
}

var errEmpty = errors.New("the repository is empty: it has no commit")

// readLocal reads from a repository on this machine, bare or with a work tree.
func readLocal(ctx context.Context, path, ref string) (Snapshot, error) {
	objects, err := open(path)
	if err != nil {
		return Snapshot{}, err
	}
	hash, name, found := lookup(objects, ref)
	switch {
	case found:
	case fullHash().MatchString(ref):
		hash, name = plumbing.NewHash(ref), "HEAD"
	case shortHash().MatchString(ref):
		name = "HEAD"
		if hash, err = expand(ctx, objects, ref); err != nil {
			return Snapshot{}, err
		}
	default:
		return Snapshot{}, missing(objects, ref)
	}
	return snapshot(objects, hash, name)
}

// maxCached is the size of the largest object of a local repository that is read into memory, in
// bytes. Larger objects are read from their file each time.
const maxCached = 1 << 20

// open opens the repository at path or, as git does, at path with ".git".
func open(path string) (*filesystem.Storage, error) {
	for _, p := range []string{path, path + ".git"} {
		repo, err := git.PlainOpenWithOptions(p, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
		if err == nil {
			dir := repo.Storer.(*filesystem.Storage).Filesystem() // the storage of each repository that is opened by path
			return filesystem.NewStorageWithOptions(dir, cache.NewObjectLRUDefault(), filesystem.Options{LargeObjectThreshold: maxCached}), nil
		}
		if !errors.Is(err, git.ErrRepositoryNotExists) {
			return nil, fmt.Errorf("opening repository %q: %w", p, err)
		}
	}
	return nil, &NoRepositoryError{path}
}

// A NoRepositoryError is the error for a path on this machine without a git repository.
type NoRepositoryError struct{ Path string }

func (e *NoRepositoryError) Error() string {
	return fmt.Sprintf("there is no git repository at %q", e.Path)
}
