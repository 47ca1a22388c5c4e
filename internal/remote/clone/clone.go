package clone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
)

// Options select a commit of a git repository, and limit its size.
type Options struct {
	// URL is an http, https, ssh, git or file URL, the form user@host:path, or a path.
	URL string
	// Ref is a branch or tag, with or without prefixes (heads/x, refs/tags/x), HEAD, or a
	// commit in full or short form (4 digits or more). A branch has priority over a tag of
	// its name. 40 hexadecimal digits are always a commit. Empty is HEAD.
	Ref string
	// MaxBytes limits the bytes that a server sends. It also limits the
	// size of the objects that are unpacked from them.
	MaxBytes int64
	// AnswerTimeout is the time in which a server must list its branches and tags, and then send more
	// data. Zero means a minute.
	AnswerTimeout time.Duration
	// Progress receives the number of fetched bytes, and a note about a silent server. It may be nil.
	Progress progress.Func
}

// A Snapshot is one commit of a repository, with its files.
type Snapshot struct {
	// Commit is the hash of the commit, 40 hexadecimal digits.
	Commit string
	// Ref is the selected branch without "refs/heads/". It is "HEAD" if a
	// tag or a hash was selected.
	Ref string
	// Tree is the hash of the commit's root folder. Objects has all objects of the tree.
	Tree    plumbing.Hash
	Objects storer.EncodedObjectStorer
}

// Commit reads the commit that o names. From a remote repository it fetches only that
// commit, or the whole history if the commit is in short form or the server cannot
// send less. It returns when ctx is done.
func Commit(ctx context.Context, o Options) (Snapshot, error) {
	at, err := locate(o.URL)
	if err != nil {
		return Snapshot{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := cmp.Or(o.AnswerTimeout, time.Minute)
	start, stop := o.Progress.Await("the git server", limit, func() {
		cancel(hint.Wrap(fmt.Errorf("the git server did not answer within %s", limit), CheckNetwork))
	})
	defer stop()
	var s Snapshot
	done := make(chan error, 1)
	// The ssh library ignores ctx while it connects, so read in a goroutine.
	go func() {
		var err error
		if at.path != "" {
			stop()
			s, err = readLocal(ctx, at.path, o.Ref)
		} else {
			s, err = (&remote{at, o.MaxBytes, o.Progress, start, stop}).read(ctx, o.Ref)
		}
		done <- err
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return Snapshot{}, context.Cause(ctx)
	}
	return s, err
}

// snapshot returns the Snapshot of a commit or tag.
func snapshot(objects storer.EncodedObjectStorer, hash plumbing.Hash, ref string) (Snapshot, error) {
	commit, err := peel(objects, hash)
	if err != nil {
		return Snapshot{}, err
	}
	return Snapshot{Commit: commit.Hash.String(), Ref: ref, Tree: commit.TreeHash, Objects: objects}, nil
}

// peel follows annotated tags to a commit.
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
	return nil, fmt.Errorf("tag %s is nested in more than %d other tags", hash, maxTags)
}

// A location is a path on this machine, or a server's endpoint with its
// credentials in auth.
type location struct {
	path     string
	endpoint *transport.Endpoint
	auth     transport.AuthMethod
}

// locate parses paths and URLs as git does: a colon before any slash means host:path. Its
// errors contain no part of the URL, because any part may be a secret.
func locate(raw string) (location, error) {
	if !strings.Contains(raw, "://") {
		before, _, colon := strings.Cut(raw, ":")
		if !colon || strings.Contains(before, "/") || filepath.VolumeName(raw) != "" {
			path, err := filepath.Abs(raw)
			return location{path: path}, err
		}
		return remoteLocation(raw)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return location{}, errors.New("it is not a valid URL")
	}
	switch u.Scheme {
	case "file":
		path := u.Path
		if runtime.GOOS == "windows" {
			path = strings.TrimPrefix(path, "/") // /C:/x becomes C:/x
		}
		return location{path: filepath.FromSlash(path)}, nil
	case "http", "https":
		if u.RawQuery != "" || u.Fragment != "" {
			return location{}, errors.New("the URL of a repository must not have a query (?) or a fragment (#)")
		}
	case "ssh", "git":
	default:
		return location{}, fmt.Errorf("unsupported protocol %q: expected https, http, ssh, git or file", u.Scheme)
	}
	if u.Host == "" {
		return location{}, errors.New("the URL has no host")
	}
	return remoteLocation(raw)
}

func remoteLocation(raw string) (location, error) {
	ep, err := transport.NewEndpoint(raw)
	if err != nil || ep.Protocol == "file" {
		return location{}, errors.New("it is not a valid URL")
	}
	at := location{endpoint: ep}
	if strings.HasPrefix(ep.Protocol, "http") && (ep.User != "" || ep.Password != "") {
		at.auth = &githttp.BasicAuth{Username: ep.User, Password: ep.Password}
		ep.User = ""
	}
	ep.Password = ""
	return at, nil
}

// Redact returns raw without its credentials. The user name in an ssh URL is
// not a credential.
func Redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok { // raw is a path, or user@host:path.
		user, rest, ok := strings.Cut(raw, "@")
		name, _, colon := strings.Cut(user, ":")
		if !ok || !colon || strings.Contains(user, "/") || filepath.VolumeName(raw) != "" {
			return raw
		}
		return name + "@" + rest
	}
	u, err := url.Parse(raw)
	if err != nil {
		// An unescaped secret may end anywhere before the last @.
		return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
	}
	isHTTP := u.Scheme == "http" || u.Scheme == "https"
	_, password := u.User.Password()
	switch {
	case isHTTP && (u.User != nil || u.RawQuery != "" || u.Fragment != ""):
		u.User, u.RawQuery, u.Fragment = nil, "", ""
	case password:
		u.User = url.User(u.User.Username())
	default:
		return raw
	}
	return u.String()
}
