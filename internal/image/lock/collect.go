package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A Want is a dependency or a reference that the lock file must contain. For a reference,
// the Version is empty.
type Want struct {
	Dependency
	// Base is true for a base image, Package for a package that a project depends on, and API for
	// another dependency of a project. Otherwise it is a function.
	Base, Package, API bool
	key                key
}

// String returns the reference, or the repository and version constraint.
func (w Want) String() string { return strings.TrimSpace(w.key.name + " " + w.key.constraint) }

// Sources are the readers and parsers that Collect uses.
type Sources struct {
	// Reader reads files.
	Reader manifest.Reader
	// Parse parses an image reference.
	Parse func(string) (name.Reference, error)
	// ImageAnnotation is the key of the annotation of a Function that names an image to run
	// instead of the package. It may be "".
	ImageAnnotation string
}

// Collect returns what the files require to be locked: the packages that Functions name, and
// the Functions that package metadata depends on. In a package root, it reads only the
// metadata; in another folder, all YAML files. It returns an error for a file that contains
// neither Functions nor metadata.
func (s Sources) Collect(ctx context.Context, files ...string) ([]Want, error) {
	var all []Want
	for _, path := range files {
		wants, err := proc.Await(ctx, func() ([]Want, error) { return s.file(ctx, path) })
		if errors.Is(err, fs.ErrNotExist) {
			if _, notReference := s.Parse(path); notReference == nil {
				err = hint.Wrap(fmt.Errorf("%q is a reference, expected a file", path), "name a file that has the reference, as in xfn lock functions.yaml")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("reading the references to lock: %w", err)
		}
		all = append(all, wants...)
	}
	return all, nil
}

// Base returns the Want for a base image with this reference.
func (s Sources) Base(reference string) (Want, error) {
	w, err := s.want(Dependency{Package: reference})
	w.Base = true
	return w, err
}

// Package returns the Want for a dependency of a project.
func (s Sources) Package(d Dependency) (Want, error) {
	w, err := s.want(d)
	w.Package = true
	return w, err
}

func dependency(text string) Want {
	pkg, constraint, _ := strings.Cut(text, " ")
	return Want{Dependency: Dependency{Package: pkg, Version: constraint}, Package: true, key: key{pkg, constraint}}
}

func (s Sources) file(ctx context.Context, path string) ([]Want, error) {
	docs, err := s.Reader.All(ctx, Metadata(s.Reader.FS, path))
	if err != nil {
		return nil, err
	}
	var all []Want
	found := false
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			return nil, err
		}
		deps, of, err := s.dependencies(doc, obj)
		if err != nil {
			return nil, err
		}
		found = found || of
		for _, d := range deps {
			w, err := s.want(d)
			if err != nil {
				return nil, d.At(err)
			}
			all = append(all, w)
		}
	}
	if !found {
		return nil, hint.Wrap(&manifest.Error{Path: path, Err: errors.New("expected a Function or package metadata, found neither")}, "name a functions file, a crossplane.yaml or a project file")
	}
	return all, nil
}

// dependencies returns the dependencies of an object. It returns false if the object is
// neither a Function nor package metadata.
func (s Sources) dependencies(doc manifest.Document, obj map[string]any) ([]Dependency, bool, error) {
	if IsMetadata(obj) {
		deps, err := Functions(doc, obj)
		return deps, true, err
	}
	apiVersion, _ := obj["apiVersion"].(string)
	if group, _, _ := strings.Cut(apiVersion, "/"); group != "pkg.crossplane.io" || obj["kind"] != "Function" {
		return nil, false, nil
	}
	var deps []Dependency
	for _, field := range [][]string{{"spec", "package"}, {"metadata", "annotations", s.ImageAnnotation}} {
		name := strings.Join(field, ".")
		at := Dependency{Path: doc.Path, Line: doc.Lines().Of(name)}
		pkg, there, err := unstructured.NestedString(obj, field...)
		if err != nil || there && pkg == "" {
			return nil, true, at.At(fmt.Errorf("%s must be the reference or path of a package", name))
		}
		if at.Package = pkg; there && !IsPath(pkg) {
			deps = append(deps, at)
		}
	}
	return deps, true, nil
}

func (s Sources) want(d Dependency) (Want, error) {
	k, err := wantedKey(d, s.Parse)
	return Want{Dependency: d, key: k}, err
}

// wantedKey returns the key that the lock file must have for a dependency.
func wantedKey(d Dependency, parse func(string) (name.Reference, error)) (key, error) {
	if d.Version == "" {
		ref, err := parse(d.Package)
		if err != nil {
			return key{}, err
		}
		return key{ref.Name(), ""}, nil
	}
	repo, err := d.Repository(parse)
	if err != nil {
		return key{}, err
	}
	return key{repo.Name(), d.Version}, nil
}
