package inspect

import (
	"cmp"
	"fmt"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// A CRD is the definition of a custom resource, and its source.
type CRD struct {
	crd.Definition
	// Name is the name of the CRD. Object is its content.
	Name   string
	Object map[string]any
	// Path and Line are the position in a file. For a package, Path is its name, and Line is 0.
	Path string
	Line int
	// Source is the document in a file that defines the kind: the CRD, or the XRD or MRD from
	// which it is derived. It is empty for a package.
	Source manifest.Document
	// Functions are the names by which Compositions call the function whose package has the CRD.
	Functions []string
}

// From returns the file and line, or the package, that defines the CRD.
func (d CRD) From() string {
	return manifest.Position(d.Path, d.Line)
}

// Storage returns the name of the CRD's storage version, or of its first version if none is
// marked for storage.
func (d CRD) Storage() string {
	return cmp.Or(d.Definition.Storage(), d.Versions[0].Name)
}

// CRDsOf returns the CRDs that documents define. It does not read the packages that they
// name. It returns the first error of an unreadable document or definition.
func CRDsOf(docs []manifest.Document) ([]CRD, error) {
	c := &collector{CRDOptions: CRDOptions{Offline: true}, known: map[string]CRD{}}
	for _, doc := range docs {
		if err := c.document(doc); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

// FunctionInputs returns the inputs of the functions whose packages have definitions in all.
func FunctionInputs(all []CRD) composition.Inputs {
	var inputs composition.Inputs
	for _, d := range all {
		for _, function := range d.Functions {
			inputs = append(inputs, composition.InputsOf(function, d.Object)...)
		}
	}
	return inputs
}

// NewValidator returns a Validator that validates objects against the definitions in all.
func NewValidator(all []CRD, o validate.Options) *validate.Validator {
	definitions := make([]validate.Definition, len(all))
	for i, d := range all {
		definitions[i] = validate.Definition{Object: d.Object, Path: d.Path, Line: d.Line, Source: d.Source}
	}
	return validate.New(definitions, o)
}

// A DependencyError says that a package that a file or package names could not be read.
type DependencyError struct {
	// By is the package or the position in the file.
	By  string
	Err error
}

func (e *DependencyError) Error() string {
	return fmt.Sprintf("reading the dependencies of %s: %v", e.By, e.Err)
}

func (e *DependencyError) Unwrap() error { return e.Err }

// Follow selects the packages whose dependencies CollectCRDs reads.
type Follow string

const (
	// FollowNone reads no dependencies.
	FollowNone Follow = "none"
	// FollowConfigurations reads the dependencies of Configurations, at any depth, and of
	// package metadata in YAML files. It is the default.
	FollowConfigurations Follow = "configurations"
	// FollowAll reads the dependencies of all packages: Configurations, Providers and
	// Functions.
	FollowAll Follow = "all"
)
