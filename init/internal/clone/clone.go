package clone

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/xfn-dev/xfn/internal/progress"
)

// Options say which commit of which repository.
type Options struct {
	// URL is an http, https, ssh, git or file URL, the form user@host:path,
	// or a path. Credentials of an http URL are used, and never repeated.
	URL string
	// Ref is a branch, a tag, either with any of its prefixes (heads/x,
	// refs/tags/x), HEAD, or a commit in full or short form (4 digits or
	// more). A branch wins over a tag of its name, and 40 hexadecimal digits
	// are always a commit. Empty is HEAD.
	Ref string
	// MaxBytes bounds what a server may send, and what that may unpack to.
	MaxBytes int64
	// Progress learns about the bytes as they arrive. It may be nil.
	Progress progress.Func
}

// A Snapshot is one commit of a repository, with its files.
type Snapshot struct {
	// Commit is its hash, 40 hexadecimal digits.
	Commit string
	// Ref is the branch that it is the tip of, without "refs/heads/". It is
	// "HEAD" if it was asked for by tag or hash, as git calls a checkout of
	// no branch.
	Ref string
	// Tree is its root folder, to be found in Objects with all below.
	Tree plumbing.Hash
	// Objects holds at least what the commit needs.
	Objects storer.EncodedObjectStorer
}

// Commit reads the commit that o names. Of a remote repository it transfers
// that commit alone; all history only where the commit is given in short form,
// or where the server is not able to send less. It returns when ctx is done,
// whatever the other side does.
func Commit(ctx context.Context, o Options) (Snapshot, error) {
	at, err := locate(o.URL)
	if err != nil {
		return Snapshot{}, err
	}
	return await(ctx, func() (Snapshot, error) {
		if at.path != "" {
			return readLocal(ctx, at.path, o.Ref)
		}
		r := &remote{location: at, limit: o.MaxBytes, progress: o.Progress}
		return r.read(ctx, o.Ref)
	})
}

// await returns what f does, or the cause of ctx's end if that comes first: a
// connection by ssh is made without a context.
func await(ctx context.Context, f func() (Snapshot, error)) (Snapshot, error) {
	type outcome struct {
		snapshot Snapshot
		err      error
	}
	done := make(chan outcome, 1)
	go func() {
		s, err := f()
		done <- outcome{s, err}
	}()
	select {
	case o := <-done:
		if ctx.Err() != nil {
			return Snapshot{}, context.Cause(ctx)
		}
		return o.snapshot, o.err
	case <-ctx.Done():
		return Snapshot{}, context.Cause(ctx)
	}
}

// snapshot makes a Snapshot of what hash names: a commit, or tags of one.
func snapshot(objects storer.EncodedObjectStorer, hash plumbing.Hash, ref string) (Snapshot, error) {
	commit, err := peel(objects, hash)
	if err != nil {
		return Snapshot{}, err
	}
	return Snapshot{Commit: commit.Hash.String(), Ref: ref, Tree: commit.TreeHash, Objects: objects}, nil
}

// peel follows annotated tags to the commit.
func peel(objects storer.EncodedObjectStorer, hash plumbing.Hash) (*object.Commit, error) {
	const maxTags = 16
	for range maxTags {
		o, err := objects.EncodedObject(plumbing.AnyObject, hash)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return nil, fmt.Errorf("the repository has no object %s", hash)
		}
		if err != nil {
			return nil, fmt.Errorf("reading object %s: %w", hash, err)
		}
		switch o.Type() {
		case plumbing.CommitObject:
			return object.DecodeCommit(objects, o)
		case plumbing.TagObject:
			tag, err := object.DecodeTag(objects, o)
			if err != nil {
				return nil, fmt.Errorf("reading tag %s: %w", hash, err)
			}
			hash = tag.Target
		default:
			return nil, fmt.Errorf("%s is a %s and not a commit", hash, o.Type())
		}
	}
	return nil, fmt.Errorf("tag %s stands behind more than %d other tags", hash, maxTags)
}
