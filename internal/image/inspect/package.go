package inspect

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// A Package is the content of package.yaml.
type Package struct {
	APIVersion string `json:"apiVersion"`
	// Kind is Function, Configuration or Provider.
	Kind        string            `json:"kind"`
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Crossplane is the version constraint on Crossplane, or empty if there is none.
	Crossplane   string           `json:"crossplane,omitempty"`
	DependsOn    []lock.DependsOn `json:"dependsOn,omitempty"`
	Capabilities []string         `json:"capabilities,omitempty"`
	// Objects are the objects other than the metadata, in the order of package.yaml.
	Objects []Object `json:"objects"`
	// Digest and Size are the digest of package.yaml and its size in bytes.
	Digest string `json:"digest"`
	Size   int64  `json:"size"`

	meta map[string]any
}

// An Object is an object of a package.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	// Defines is what the object defines if it is a CRD, XRD or MRD. Otherwise it is nil.
	Defines *crd.Definition `json:"defines,omitempty"`

	data map[string]any
}

// Data returns the object's content, which must not be changed.
func (o Object) Data() map[string]any { return o.data }

const metadataFile = "package.yaml"

// parse parses package.yaml, which must contain exactly one object with the package
// metadata.
func parse(data []byte) (*Package, error) {
	docs, err := manifest.Split(metadataFile, data)
	if err != nil {
		return nil, err
	}
	p := &Package{Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data)), Size: int64(len(data))}
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			return nil, err
		}
		o := objectOf(obj)
		if !lock.IsMetadata(obj) {
			p.Objects = append(p.Objects, o)
			continue
		}
		if p.meta != nil {
			return nil, &manifest.Error{Path: doc.Path, Line: doc.Line, Err: errors.New("there is more than one metadata object")}
		}
		p.describe(o)
	}
	if p.meta == nil {
		return nil, fmt.Errorf("%s has no object of meta.pkg.crossplane.io", metadataFile)
	}
	return p, nil
}

func objectOf(data map[string]any) Object {
	o := Object{APIVersion: fieldpath.Text(data, "apiVersion"), Kind: fieldpath.Text(data, "kind"), Name: fieldpath.Text(data, "metadata", "name"), data: data}
	if !crd.Defines(data) {
		return o
	}
	// An invalid definition is kept as an object. The API server will reject it.
	if d, err := crd.Read(data); err == nil {
		o.Defines = &d
	}
	return o
}

func (p *Package) describe(o Object) {
	p.APIVersion, p.Kind, p.Name, p.meta = o.APIVersion, o.Kind, o.Name, o.data
	p.Labels, p.Annotations = fieldpath.Texts(o.data, "metadata", "labels"), fieldpath.Texts(o.data, "metadata", "annotations")
	p.Crossplane = fieldpath.Text(o.data, "spec", "crossplane", "version")
	for _, c := range fieldpath.List(o.data, "spec", "capabilities") {
		if name, ok := c.(string); ok {
			p.Capabilities = append(p.Capabilities, name)
		}
	}
	p.DependsOn = lock.ReadDependsOn(o.data)
}
