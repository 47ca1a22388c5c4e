package project

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/xpkg"
)

const (
	metaVersion = "meta.pkg.crossplane.io/v1"
	metaPrefix  = "meta.crossplane.io/"
)

// metadata returns the package metadata of a package of the project. The annotations in
// about, whose keys have no prefix, replace the annotations of the project.
func (p *Project) metadata(kind, name string, about map[string]string, spec map[string]any) (xpkg.Source, error) {
	annotations := maps.Collect(maps.All(p.Annotations)) // not nil
	maps.Copy(annotations, p.AdditionalMetadata)
	for key, value := range p.origin() {
		annotations[metaPrefix+key] = value
	}
	for key, value := range about {
		annotations[metaPrefix+key] = value
	}
	meta := map[string]any{"name": name, "annotations": objectOf(annotations)}
	if p.Namespace != "" {
		meta["namespace"] = p.Namespace
	}
	if len(p.Labels) > 0 {
		meta["labels"] = objectOf(p.Labels)
	}
	var text bytes.Buffer
	err := manifest.Write(&text, map[string]any{"apiVersion": metaVersion, "kind": kind, "metadata": meta, "spec": spec})
	if err != nil {
		return xpkg.Source{}, fmt.Errorf("writing the metadata of package %q: %w", name, err)
	}
	return xpkg.Source{Path: p.Path, Data: text.Bytes()}, nil
}

// origin returns the annotations that each package of a project has, even if they are empty.
// The keys have no prefix.
func (p *Project) origin() map[string]string {
	return map[string]string{"maintainer": p.Maintainer, "source": p.Source, "license": p.License}
}

func objectOf(m map[string]string) map[string]any {
	o := make(map[string]any, len(m))
	for key, value := range m {
		o[key] = value
	}
	return o
}

// configurationMetadata returns the metadata of the Configuration, with placeholders for the
// digests of functions.
func (p *Project) configurationMetadata(functions []Function) (xpkg.Source, error) {
	var dependsOn []any
	for _, d := range p.Packages(false) {
		entry := map[string]any{"version": d.Version}
		if d.Key == "package" {
			entry["apiVersion"], entry["kind"] = d.APIVersion, d.Kind
		}
		entry[d.Key] = d.Package
		dependsOn = append(dependsOn, entry)
	}
	for i, f := range functions {
		dependsOn = append(dependsOn, map[string]any{
			"apiVersion": pkgVersion, "kind": "Function",
			"package": p.FunctionRepository(f.Name), "version": placeholder(i),
		})
	}
	spec := map[string]any{}
	if p.CrossplaneVersion != "" {
		spec["crossplane"] = map[string]any{"version": p.CrossplaneVersion}
	}
	if len(dependsOn) > 0 {
		spec["dependsOn"] = dependsOn
	}
	return p.metadata("Configuration", p.Name, map[string]string{"description": p.Description, "readme": p.Readme}, spec)
}
