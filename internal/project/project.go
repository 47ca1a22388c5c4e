package project

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/xpkg"
)

// A Dialect is a format of project files.
type Dialect string

// The dialects.
const (
	Crossplane Dialect = "crossplane" // apiVersion dev.crossplane.io/v1alpha1
	Upbound    Dialect = "upbound"    // apiVersion meta.dev.upbound.io/v1alpha1 or v2alpha1
)

// A Project is the content of a project file, with its defaults.
type Project struct {
	// Path is the path of the project file as the user wrote it, and Root its directory.
	Path, Root string
	Dialect    Dialect
	APIVersion string

	Name, Namespace     string
	Labels, Annotations map[string]string
	// Repository is the repository of the Configuration, without a tag. Without a registry's
	// host, it is a name that only files of packages can have.
	Repository                                       string
	Maintainer, Source, License, Description, Readme string
	// AdditionalMetadata are further annotations of a project of Upbound.
	AdditionalMetadata map[string]string
	// CrossplaneVersion is the version constraint of the packages, or "" for none.
	CrossplaneVersion string
	// Dependencies are the dependencies, in the form of the dialect Crossplane: first
	// the packages, then the other API dependencies.
	Dependencies []Dependency
	// Listed are the embedded functions that the file lists. Nil means that each directory
	// in Paths.Functions is a function. Functions returns both.
	Listed []Function
	Paths  Paths
	// Architectures are the architectures of the embedded functions.
	Architectures []string
	// Languages are the languages for which schemas are generated.
	Languages []string
	// GoAccessors adds methods to Go models that get and set the fields. It is not in the project file.
	GoAccessors bool
	// Rewrites replace the beginnings of references before images are fetched.
	Rewrites []Rewrite

	// Warnings are mistakes in the file that do not prevent a build. Each is a *manifest.Error.
	Warnings []error

	doc manifest.Document
}

// Paths are directories, relative to the root of the project, with slashes.
type Paths struct {
	APIs       string `json:"apis"`
	Functions  string `json:"functions"`
	Examples   string `json:"examples"`
	Tests      string `json:"tests"`
	Operations string `json:"operations"`
	Schemas    string `json:"schemas"`
}

// A Dependency is a dependency of a project. Exactly one of XPkg, Git, HTTP and K8s is set.
type Dependency struct {
	Type string         `json:"type"`
	XPkg *Package       `json:"xpkg"`
	Git  *GitSource     `json:"git"`
	HTTP *HTTPSource    `json:"http"`
	K8s  *KubernetesAPI `json:"k8s"`
	// Field is the field of the project file, such as "spec.dependencies[0]".
	Field string
}

// A Package is a dependency on a package.
type Package struct {
	// APIVersion and Kind are the apiVersion and kind of the installed object, such as
	// pkg.crossplane.io/v1 and Function.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Package    string `json:"package"`
	// Version is a version constraint, a tag or a digest.
	Version string `json:"version"`
	// APIOnly is true for a package that is needed for its schemas only.
	APIOnly bool `json:"apiOnly"`
	// Key is the field of package metadata that names the package. It is "package", or the
	// older "provider", "function" or "configuration" if the project file has that.
	Key string
}

// A GitSource is a directory of CRDs in a git repository.
type GitSource struct {
	Repository string `json:"repository"`
	Ref        string `json:"ref"`
	Path       string `json:"path"`
}

// An HTTPSource is a file of CRDs at a URL.
type HTTPSource struct {
	URL string `json:"url"`
}

// A KubernetesAPI is the API of a Kubernetes version.
type KubernetesAPI struct {
	Version string `json:"version"`
}

// A Function is an embedded function.
type Function struct {
	Name string
	// Tarball is the path of the function's runtime images, up to "-ARCH.tar" or
	// "-ARCH.tar.gz", relative to the root. It is "" for a function with a source directory.
	Tarball string
	// Field is the field of the project file that lists the function, or "".
	Field string
}

// A Rewrite replaces the beginning of image references. Field is the field of the project file.
type Rewrite struct{ From, To, Field string }

// Rewritten returns the reference from which an image is fetched.
func (p *Project) Rewritten(reference string) string {
	r := p.rewrite(reference)
	if r.From == "" {
		return reference
	}
	return r.To + strings.TrimPrefix(reference, r.From)
}

// rewrite returns the Rewrite with the longest prefix that matches a reference. It returns the zero
// value if no prefix matches.
func (p *Project) rewrite(reference string) Rewrite {
	best := Rewrite{}
	for _, r := range p.Rewrites {
		if strings.HasPrefix(reference, r.From) && len(r.From) > len(best.From) {
			best = r
		}
	}
	return best
}

// Packages returns the dependencies on packages, with or without dependencies that are
// needed for their schemas only.
func (p *Project) Packages(apiOnly bool) []Package {
	var all []Package
	for _, d := range p.Dependencies {
		if d.XPkg != nil && (apiOnly || !d.XPkg.APIOnly) {
			all = append(all, *d.XPkg)
		}
	}
	return all
}

// Dir returns the path of a directory or file of the project. path is relative to the root
// and has slashes.
func (p *Project) Dir(path string) string { return filepath.Join(p.Root, filepath.FromSlash(path)) }

// FunctionRepository returns the repository of an embedded function's package.
func (p *Project) FunctionRepository(function string) string { return p.Repository + "_" + function }

// FunctionRef returns the name by which Compositions call an embedded function.
func (p *Project) FunctionRef(function string) string {
	return InstalledName(p.FunctionRepository(function))
}

// InstalledName returns the name that Crossplane gives to the package of a repository that
// another package depends on.
func InstalledName(repository string) string {
	repo, err := name.NewRepository(repository)
	if err != nil {
		return xpkg.Label(repository)
	}
	return xpkg.Label(repo.RepositoryStr())
}

// At returns err at the line of a field in the project file, such as "spec.paths".
func (p *Project) At(field string, err error) error {
	return &manifest.Error{Path: p.Path, Line: p.Line(field), Err: err}
}

// Line returns the line of a field in the project file.
func (p *Project) Line(field string) int { return p.doc.Lines().Of(field) }

// Text returns the YAML document of the project, and the line of the file on which it begins.
func (p *Project) Text() ([]byte, int) { return slices.Clone(p.doc.Text), p.doc.Line }
