package lock

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// FileName is the default name of a lock file.
const FileName = "xfn.lock"

const (
	apiVersion = "xfn.dev/v1alpha1"
	kind       = "Lock"
)

// A Lock is the content of a lock file.
type Lock struct {
	// Path is the path of the lock file, for error messages.
	Path string
	// Files are the files whose references are locked: the arguments of Collect, relative to
	// the folder of the lock file, with slashes.
	Files []string
	// Functions are the images of function packages. BaseImages are the base images that
	// packages are built on. Packages are the dependencies of projects, and the packages that
	// these depend on. APIs are the dependencies of projects that are not packages.
	Functions, BaseImages, Packages, APIs []Image
}

// An Image is an entry of the lock file: a reference or version constraint, and the digest
// that it was resolved to.
type Image struct {
	// Reference is REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST. In Lock.APIs, it is
	// git+REPOSITORY, the URL of a file, or k8s:VERSION.
	Reference string `json:"reference" yaml:"reference" required:""`
	// Constraint is the version constraint of a dependency. Reference then has the highest
	// version that the constraint allows. Constraint is "" if the source names Reference
	// itself. In Lock.APIs, it is the branch, tag or commit of a git repository.
	Constraint string `json:"constraint,omitempty" yaml:"constraint,omitempty"`
	// Digest is the digest of the image's manifest or index. In Lock.APIs, it is the commit of a
	// git repository, or the digest of the content.
	Digest string `json:"digest" yaml:"digest" required:""`
	// Platforms are the platforms that the image is built for. They only inform reviewers of
	// the lock file.
	Platforms []string `json:"platforms,omitempty" yaml:"platforms,omitempty,flow"`
	// Dependencies are the packages that an entry of Lock.Packages depends on: REPOSITORY
	// CONSTRAINT, or a reference.
	Dependencies []string `json:"dependencies,omitempty" yaml:"dependencies,omitempty"`
}

// A key identifies an entry of the lock file: by a reference, or by a repository and a
// version constraint.
type key struct{ name, constraint string }

func (i Image) key() key {
	if i.Constraint == "" || isAPI(i.Reference) {
		return key{i.Reference, i.Constraint}
	}
	return key{i.repository().Name(), i.Constraint}
}

func (i Image) repository() name.Repository {
	ref, err := remote.ParseReference(i.Reference, "")
	if err != nil {
		return name.Repository{}
	}
	return ref.Context()
}

// Named reports whether name is one of the image's Names.
func (i Image) Named(name string) bool { return slices.Contains(i.Names(), name) }

// Names returns what refers to the image: its reference, its repository, the last element of the
// repository's path, and the name that Crossplane gives to the package object.
func (i Image) Names() []string {
	if isAPI(i.Reference) {
		return []string{i.Reference, strings.TrimPrefix(i.Reference, GitPrefix)}
	}
	repo := i.repository()
	return []string{i.Reference, repo.Name(), repo.RepositoryStr(), path.Base(repo.RepositoryStr()), xpkg.Label(repo.RepositoryStr())}
}

func (i Image) compare(other Image) int {
	return cmp.Or(cmp.Compare(i.Reference, other.Reference), cmp.Compare(i.Constraint, other.Constraint))
}

// Pin returns ref with the digest that is locked for it. If ref is a digest that is locked,
// Pin returns it unchanged. An error is one sentence that names ref.
func (l *Lock) Pin(ref name.Reference) (name.Reference, error) {
	_, isDigest := ref.(name.Digest)
	but := ""
	for _, i := range slices.Concat(l.Functions, l.BaseImages, l.Packages) {
		mayDiffer := isDigest && i.repository().Name() == ref.Context().Name()
		switch {
		case i.Reference == ref.Name(), mayDiffer && i.Digest == ref.Identifier():
			return ref.Context().Digest(i.Digest), nil
		case mayDiffer && but == "":
			but = fmt.Sprintf("which has %s of it", i.Digest)
		}
	}
	return nil, l.refuse(ref.Name(), but, "")
}

// Reference returns the reference that is locked for a dependency, with its tag or digest.
// An error is one sentence that names the dependency and its position.
func (l *Lock) Reference(d Dependency, parse func(string) (name.Reference, error)) (string, error) {
	w, err := wantedKey(d, parse)
	if err != nil {
		return "", d.At(err)
	}
	but := ""
	for _, i := range slices.Concat(l.Functions, l.Packages) {
		switch {
		case i.key() == w:
			return i.Reference, nil
		case i.Constraint != "" && i.repository().Name() == w.name && but == "":
			but = fmt.Sprintf("which has %s for %s", i.Reference, i.Constraint)
		}
	}
	return "", d.At(l.refuse(d.Package+" "+d.Version, but, d.Path))
}

// Closure returns the entries of a project's dependency and of the packages that it depends
// on. If an entry is missing, the error is one sentence that names the package.
func (l *Lock) Closure(d Dependency, parse func(string) (name.Reference, error)) ([]Image, error) {
	w, err := Sources{Parse: parse}.Package(d)
	if err != nil {
		return nil, d.At(err)
	}
	p := l.Plan([]Want{w}, nil)
	if len(p.Missing) > 0 {
		return nil, d.At(l.refuse(p.Missing[0].String(), "", d.Path))
	}
	return p.Kept.Packages, nil
}

// refuse returns the error that the lock file does not have what, with an addition in but. file
// is the file that requires it, or "".
func (l *Lock) refuse(what, but, file string) error {
	err := fmt.Errorf("%q is not in the lock file %q", what, l.Path)
	if but != "" {
		err = fmt.Errorf("%w, %s", err, but)
	}
	return hint.Wrap(err, strings.Join(append([]string{"run xfn lock"}, l.filesWith(file)...), " ")+", and review its changes")
}

// filesWith returns nothing if the lock file is about a file, or if file is "". Otherwise it
// returns the paths of the files that the lock file is about, and file.
func (l *Lock) filesWith(file string) []string {
	var paths []string
	for _, f := range l.Files {
		path := filepath.FromSlash(f)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(l.Path), path)
		}
		if fsx.IsWithin(path, file) {
			return nil
		}
		paths = append(paths, path)
	}
	if file == "" {
		return nil
	}
	return append(paths, file)
}

type file struct {
	APIVersion string   `json:"apiVersion" yaml:"apiVersion"`
	Kind       string   `json:"kind" yaml:"kind"`
	Files      []string `json:"files" yaml:"files,omitempty"`
	Functions  []Image  `json:"functions" yaml:"functions,omitempty"`
	BaseImages []Image  `json:"baseImages" yaml:"baseImages,omitempty"`
	Packages   []Image  `json:"packages" yaml:"packages,omitempty"`
	APIs       []Image  `json:"apis" yaml:"apis,omitempty"`
}

// Encode returns the text of the lock file. Images are sorted, so the text does not depend
// on their order in l.
func (l *Lock) Encode() ([]byte, error) {
	text := bytes.NewBufferString("# The digests that xfn lock resolved. Commit this file, and update it with xfn lock.\n")
	enc := yamlv3.NewEncoder(text)
	enc.SetIndent(2)
	err := enc.Encode(file{apiVersion, kind, l.Files, sorted(l.Functions), sorted(l.BaseImages), sorted(l.Packages), sorted(l.APIs)})
	if err == nil {
		err = enc.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the lock file: %w", err)
	}
	return text.Bytes(), nil
}

func sorted(images []Image) []Image { return slices.SortedFunc(slices.Values(images), Image.compare) }
