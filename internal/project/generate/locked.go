package generate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/models"
	"github.com/xfn-dev/xfn/internal/remote"
)

const digestPrefix = "sha256:"

// digestOf returns the digest of texts that follow each other.
func digestOf(texts ...[]byte) string {
	sum := sha256.New()
	for _, t := range texts {
		sum.Write(t)
	}
	return fmt.Sprintf("%s%x", digestPrefix, sum.Sum(nil))
}

// LockedDependency returns a dependency of a project as a lock file has it, with its position.
func LockedDependency(p *project.Project, d project.Dependency) lock.Dependency {
	locked := locked(d)
	locked.Path, locked.Line = p.Path, p.Line(d.Field)
	return locked
}

// locked returns a dependency of a project as a lock file has it.
func locked(d project.Dependency) lock.Dependency {
	_, at := address(d)
	switch {
	case d.XPkg != nil:
		return lock.Dependency{Package: at, Version: d.XPkg.Version}
	case d.Git != nil:
		return lock.Dependency{Package: lock.GitPrefix + at, Version: d.Git.Ref}
	case d.K8s != nil:
		return lock.Dependency{Package: lock.KubernetesPrefix + at}
	}
	return lock.Dependency{Package: at}
}

// APIDigest returns what a lock file has for a dependency that is not a package: the commit of a
// git repository, or the digest of the content.
func (f *Fetcher) APIDigest(ctx context.Context, d lock.Dependency) (digest string, err error) {
	if f.Images.Offline {
		return "", errOffline
	}
	if version, ok := strings.CutPrefix(d.Package, lock.KubernetesPrefix); ok {
		_, digest, err = f.kubernetes(ctx, version)
		return digest, err
	}
	if repository, ok := strings.CutPrefix(d.Package, lock.GitPrefix); ok {
		_, digest, err = f.git(ctx, project.GitSource{Repository: repository, Ref: d.Version})
		return digest, err
	}
	data, err := f.get(ctx, d.Package)
	return digestOf(data), err
}

// kubernetesFiles are the OpenAPI documents that have models.
var kubernetesFiles = strings.Fields("api__v1 apis__apps__v1 apis__autoscaling__v1 apis__batch__v1 apis__networking.k8s.io__v1 apis__policy__v1 apis__rbac.authorization.k8s.io__v1 apis__storage.k8s.io__v1")

// kubernetes returns the OpenAPI documents of a version of Kubernetes, and their digest.
func (f *Fetcher) kubernetes(ctx context.Context, version string) (texts [][]byte, digest string, err error) {
	if err := project.CheckRelease("k8s:", version); err != nil {
		return nil, "", err
	}
	for _, file := range kubernetesFiles {
		data, err := f.get(ctx, fmt.Sprintf("%s/v%s/api/openapi-spec/v3/%s_openapi.json", f.Kubernetes, strings.TrimPrefix(version, "v"), file))
		if err != nil {
			return nil, "", err
		}
		texts = append(texts, data)
	}
	return texts, digestOf(texts...), nil
}

func (f *Fetcher) kubernetesAPI(ctx context.Context, d project.Dependency) (models.Definitions, error) {
	texts, digest, err := f.kubernetes(ctx, d.K8s.Version)
	if err == nil && f.Lock != nil {
		err = f.Lock.CheckAPI(locked(d), digest)
	}
	if err != nil {
		return nil, err
	}
	all := models.Definitions{}
	for i, text := range texts {
		if err := all.OpenAPI(text); err != nil {
			return nil, fmt.Errorf("reading %s: %w", kubernetesFiles[i], err)
		}
	}
	return all, nil
}

// known reports whether the lock file of the schemas has a dependency. With o.Lock, it must have
// the locked digests: for a package, the digests of the package and of its dependencies. An
// error has the position of the dependency.
func (o SchemaOptions) known(p *project.Project, d project.Dependency, schemas map[string]string) (bool, error) {
	if o.Lock == nil {
		return known(d, schemas), nil
	}
	at := LockedDependency(p, d)
	if d.XPkg == nil {
		digest, err := o.Lock.APIDigest(at)
		// The lock file of the schemas has the version of Kubernetes and not a digest.
		has := d.K8s != nil && known(d, schemas) || schemas[sourceID(d)] == strings.TrimPrefix(digest, digestPrefix)
		return err == nil && has, err
	}
	images, err := o.Lock.Closure(at, func(s string) (name.Reference, error) { return remote.ParseReference(s, o.Registry) })
	for _, i := range images {
		if schemas["xpkg://"+i.Reference] != i.Digest {
			return false, err
		}
	}
	return err == nil, err
}

var errOffline = errors.New("the dependency is not fetched offline")
