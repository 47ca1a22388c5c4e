package project

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Fetch returns the artifact at a reference, such as image.Artifact.
type Fetch func(context.Context, name.Reference) (xpkg.Artifact, error)

// Fetched returns the packages of the project whose Configuration is at a reference: the
// Configuration and the functions that it has by digest, in the repositories beside it. The
// layers are fetched when they are read.
func Fetched(ctx context.Context, ref name.Reference, fetch Fetch) (*Set, error) {
	a, err := fetch(ctx, ref)
	if err != nil {
		return nil, err
	}
	config, ok := a.(v1.Image)
	if !ok {
		return nil, notProject(ref, errors.New("it is an index of images"))
	}
	text, err := xpkg.PackageYAML(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("reading the package at %q: %w", ref.Name(), err)
	}
	configuration, built, repositories, err := embedded(text)
	if err == nil && len(repositories) == 0 && !built {
		err = errors.New("it has neither functions of a project nor the annotations that a project's build writes")
	}
	if err != nil {
		return nil, notProject(ref, err)
	}
	s := &Set{Repository: ref.Context().Name(), Configuration: config}
	of := s.Repository + "_"
	for _, r := range repositories {
		if !strings.HasPrefix(r.Context().Name(), of) {
			// The project was copied from the repository that it was built for.
			of = r.Context().Name()[:strings.LastIndex(r.Context().Name(), "_")+1]
			s.Repository = strings.TrimSuffix(of, "_")
			break
		}
	}
	for _, r := range repositories {
		suffix, ok := strings.CutPrefix(r.Context().Name(), s.Repository)
		if !ok {
			return nil, notProject(ref, fmt.Errorf("the Configuration %q depends on functions of several projects by digest", configuration))
		}
		if err := s.fetch(ctx, ref.Context().Name()+suffix, r, fetch); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func notProject(ref name.Reference, err error) error {
	return hint.Wrap(fmt.Errorf("the package at %q is not a Configuration of a project: %w", ref.Name(), err), "use xfn xpkg pull or xfn xpkg copy for a single package")
}

// fetch adds the function that is at a digest in a repository. as is its reference in the
// Configuration.
func (s *Set) fetch(ctx context.Context, repository string, as name.Digest, fetch Fetch) error {
	repo, err := name.NewRepository(repository)
	if err != nil {
		return fmt.Errorf("finding the function %q: %w", as.Name(), err)
	}
	a, err := fetch(ctx, repo.Digest(as.DigestStr()))
	if err != nil {
		return err
	}
	idx, ok := a.(v1.ImageIndex)
	if !ok {
		return fmt.Errorf("the package at %q is not an index of images", as.Name())
	}
	found, err := xpkg.Images(idx)
	if err != nil {
		return err
	}
	pkg := FunctionPackage{Repository: as.Context().Name(), Index: idx}
	for _, i := range found {
		pkg.Images = append(pkg.Images, i.Image)
	}
	s.Functions = append(s.Functions, pkg)
	return nil
}

// embedded returns the name of the Configuration with this package.yaml, and its embedded functions:
// Functions with a digest, whose repository has the suffix "_NAME". built is true if the metadata has all
// annotations that the build of a project writes, even if the project file does not set them.
func embedded(packageYAML []byte) (configuration string, built bool, all []name.Digest, err error) {
	docs, err := manifest.Split("package.yaml", packageYAML)
	if err != nil {
		return "", false, nil, err
	}
	for _, doc := range docs {
		var o struct {
			APIVersion, Kind string
			Metadata         struct {
				Name        string
				Annotations map[string]string
			}
			Spec struct {
				DependsOn []struct{ Kind, Package, Version string }
			}
		}
		if err := doc.Decode(&o); err != nil || !strings.HasPrefix(o.APIVersion, "meta.pkg.crossplane.io/") {
			continue
		}
		if o.Kind != "Configuration" {
			return "", false, nil, fmt.Errorf("it is a %s", o.Kind)
		}
		built = true
		for key := range (&Project{}).origin() {
			_, has := o.Metadata.Annotations[metaPrefix+key]
			built = built && has
		}
		for _, d := range o.Spec.DependsOn {
			_, hashErr := v1.NewHash(d.Version)
			ref, err := name.NewDigest(d.Package + "@" + d.Version)
			if hashErr == nil && err == nil && d.Kind == "Function" && strings.Contains(d.Package[strings.LastIndex(d.Package, "/")+1:], "_") {
				all = append(all, ref)
			}
		}
		return o.Metadata.Name, built, all, nil
	}
	return "", false, nil, errors.New("it has no package metadata")
}
