package lock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
)

// GitPrefix and KubernetesPrefix are the beginnings of the dependencies of a project that are a
// git repository, with the branch, tag or commit as version, and a version of Kubernetes. Others
// are the URL of a file or a package.
const (
	GitPrefix        = "git+"
	KubernetesPrefix = "k8s:"
)

// API returns the Want for a dependency of a project that is not a package.
func API(d Dependency) Want {
	return Want{Dependency: d, API: true, key: key{d.Package, d.Version}}
}

func isAPI(reference string) bool {
	return strings.HasPrefix(reference, GitPrefix) || strings.HasPrefix(reference, KubernetesPrefix) ||
		strings.HasPrefix(reference, "http://") || strings.HasPrefix(reference, "https://")
}

// APIDigest returns what is locked for a dependency that is not a package: the commit of a git
// repository, or the digest of the content. An error is one sentence that names the dependency.
func (l *Lock) APIDigest(d Dependency) (string, error) {
	w := API(d)
	for _, i := range l.APIs {
		if i.key() == w.key {
			return i.Digest, nil
		}
	}
	return "", d.At(l.refuse(w.String(), "", d.Path))
}

// ErrChanged is the error of content that differs from the locked content.
var ErrChanged = errors.New("the content has changed")

// CheckAPI returns an error unless the locked digest of a dependency's content is digest.
func (l *Lock) CheckAPI(d Dependency, digest string) error {
	locked, err := l.APIDigest(d)
	if err == nil && locked != digest {
		err = hint.Wrap(fmt.Errorf("%w: %q has the digest %s, and the lock file %q has %s", ErrChanged, d.Package, digest, l.Path, locked), "review the new content, then lock it again")
	}
	return err
}

func (i Image) checkAPI() (field string, err error) {
	isGit := strings.HasPrefix(i.Reference, GitPrefix)
	switch {
	case !isAPI(i.Reference):
		return "reference", fmt.Errorf("%q is neither git+REPOSITORY, a URL nor k8s:VERSION", i.Reference)
	case isGit && (len(i.Digest) != 40 || strings.Trim(i.Digest, "0123456789abcdef") != ""):
		return "digest", fmt.Errorf("%q is not a commit: expected 40 hexadecimal digits", i.Digest)
	case !isGit && !IsDigest(i.Digest):
		return "digest", fmt.Errorf("%q is not a digest", i.Digest)
	case !isGit && i.Constraint != "":
		return "constraint", errors.New("only a git repository has a constraint")
	}
	return "", nil
}
