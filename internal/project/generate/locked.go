package generate

import (
	"context"
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
	_, digest, err = f.files(ctx, d, "")
	return digest, err
}

// kubernetesFiles are the OpenAPI documents that have models.
var kubernetesFiles = strings.Fields("api__v1 apis__apps__v1 apis__autoscaling__v1 apis__batch__v1 apis__networking.k8s.io__v1 apis__policy__v1 apis__rbac.authorization.k8s.io__v1 apis__storage.k8s.io__v1")

func defineOpenAPI(files []yamlFile) (models.Definitions, error) {
	all := models.Definitions{}
	for i, f := range files {
		if err := all.OpenAPI(f.data); err != nil {
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
