package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Set is the packages of a built project.
type Set struct {
	// Repository is the repository of the Configuration.
	Repository    string
	Configuration v1.Image
	// Functions are the packages of embedded functions, sorted by repository if the Set was
	// read from a file, else in the order of the project.
	Functions []FunctionPackage
	// Warnings are problems that did not prevent the build.
	Warnings xpkg.Problems
	// Objects is the number of objects in the Configuration.
	Objects int
	// Attestations are what Push attaches to the packages, by their repositories.
	Attestations map[string][]push.Attestation

	open fsx.Closers
}

// A FunctionPackage is the package of an embedded function. Its artifact in a registry is
// Index, which lists Images.
type FunctionPackage struct {
	Repository string
	Images     []v1.Image
	Index      v1.ImageIndex
	// Function is the name in the project, and Materials are what Images contain besides the
	// source. Both are empty if the Set was read from a file.
	Function  string
	Materials []language.Material
}

// Close closes the files that the packages are read from.
func (s *Set) Close() error { return s.open.Close() }

// configurationTag is the tag of the Configuration in a file. The tags of functions are
// architectures.
const configurationTag = "configuration"

// WriteFile writes the packages to one file, in the format of the crossplane CLI: a Docker
// archive of all images.
func (s *Set) WriteFile(ctx context.Context, path string, report progress.Func) error {
	images := []archive.Tagged{{Tag: s.Repository + ":" + configurationTag, Image: s.Configuration}}
	for _, f := range s.Functions {
		for _, img := range f.Images {
			c, err := img.ConfigFile()
			if err != nil {
				return fmt.Errorf("reading a config: %w", err)
			}
			images = append(images, archive.Tagged{Tag: f.Repository + ":" + c.Architecture, Image: img})
		}
	}
	return archive.WriteTagged(ctx, path, images, report)
}

// Targets returns one file for each package in a directory, by the name of the package.
func (s *Set) Targets(dir string) []xpkg.Target {
	var all []xpkg.Target
	for _, p := range s.Packages() {
		all = append(all, xpkg.Target{Path: filepath.Join(dir, p.Name()+".xpkg"), Artifact: p.Artifact})
	}
	return all
}

func functionPackage(repository string, images []v1.Image) (FunctionPackage, error) {
	idx, err := indexOf(images)
	if err != nil {
		return FunctionPackage{}, fmt.Errorf("making the index of %q: %w", repository, err)
	}
	return FunctionPackage{Repository: repository, Images: images, Index: idx}, nil
}

// indexOf returns the index of the images of a function as the crossplane CLI pushes it:
// sorted by digest, and an index even for one image. dependsOn of the Configuration has its
// digest.
func indexOf(images []v1.Image) (v1.ImageIndex, error) {
	manifests, children := make([]v1.Descriptor, len(images)), make([]oci.Artifact, len(images))
	for i, img := range images {
		desc, err := oci.Describe(img)
		if err != nil {
			return nil, err
		}
		c, err := img.ConfigFile()
		if err != nil {
			return nil, fmt.Errorf("reading a config: %w", err)
		}
		desc.Platform = &v1.Platform{Architecture: c.Architecture, OS: c.OS, OSVersion: c.OSVersion}
		desc.ArtifactType = string(types.DockerConfigJSON)
		manifests[i], children[i] = desc, img
	}
	slices.SortFunc(manifests, func(a, b v1.Descriptor) int { return cmp.Compare(a.Digest.String(), b.Digest.String()) })
	return oci.Index(oci.EncodeIndex(nil, manifests...), children...)
}

// Open opens the file of a built project, which Set.WriteFile or the crossplane CLI wrote.
// The file must have been built for repository, the repository of the project. If
// repository is empty, any is accepted. Errors name the file.
func Open(ctx context.Context, path, repository string) (_ *Set, err error) {
	f, err := archive.OpenTagged(ctx, path)
	if errors.Is(err, archive.ErrTags) {
		err = fmt.Errorf("opening %q: it is not the file of a project, in which each image has one tag", path)
		return nil, hint.Wrap(err, "push the file of one package with xfn xpkg push "+hint.Word(path)+" REFERENCE, or name the file that xfn project build wrote")
	}
	if err != nil {
		return nil, err
	}
	s := &Set{}
	s.open.Add(f)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("opening %q: %w", path, err), s.Close())
		}
	}()
	images, order := map[string][]v1.Image{}, []string{}
	var built []string // repositories of Configurations
	for _, t := range f.Images {
		tag, err := name.NewTag(t.Tag, name.WeakValidation)
		if err != nil {
			return nil, fmt.Errorf("the tag %q of an image is not valid", t.Tag)
		}
		img, err := xpkg.AnnotateLayers(t.Image)
		if err == nil {
			img, err = oci.Docker(img)
		}
		if err != nil {
			return nil, fmt.Errorf("image %q: %w", t.Tag, err)
		}
		of := strings.TrimSuffix(t.Tag, ":"+tag.TagStr())
		if tag.TagStr() == configurationTag {
			built = append(built, of)
			if repository == "" || of == repository {
				s.Repository, s.Configuration = of, img
			}
			continue
		}
		if images[of] == nil {
			order = append(order, of)
		}
		images[of] = append(images[of], img)
	}
	if err := s.found(built, repository); err != nil {
		return nil, err
	}
	for _, of := range order {
		pkg, err := functionPackage(of, images[of])
		if err != nil {
			return nil, err
		}
		s.Functions = append(s.Functions, pkg)
	}
	return s, nil
}

// found returns an error unless the file has the Configuration of the repository.
func (s *Set) found(built []string, repository string) error {
	switch {
	case len(built) == 0:
		err := errors.New("the file has no Configuration: it is not the file of a project")
		return hint.Wrap(err, "build the project first with xfn project build, or push the file of one package with xfn xpkg push")
	case s.Configuration == nil:
		err := fmt.Errorf("the project was built for the repository %s, not for %s", strings.Join(built, " and "), repository)
		return hint.Wrap(err, "build the project again for "+hint.Hint(repository)+", because the packages contain the repository")
	case len(built) > 1 && repository == "":
		return fmt.Errorf("the file has several Configurations, for %s", strings.Join(built, " and "))
	}
	return nil
}

// A BuiltPackage is a package of a Set as a registry stores it.
type BuiltPackage struct {
	Repository string
	Artifact   xpkg.Artifact
}

// Name returns the last element of the repository, after which the package's files are named.
func (p BuiltPackage) Name() string { return path.Base(p.Repository) }

// Packages returns all packages: the functions, then the Configuration, which depends on
// them.
func (s *Set) Packages() []BuiltPackage {
	var all []BuiltPackage
	for _, f := range s.Functions {
		all = append(all, BuiltPackage{f.Repository, f.Index})
	}
	return append(all, BuiltPackage{s.Repository, s.Configuration})
}
