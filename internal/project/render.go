package project

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// FunctionDocuments returns the documents that a functions file for the project would have:
// package metadata with the dependencies, and a Function for each embedded function, whose package is
// its source directory or its tarball for an architecture. Dependencies are on their lines of
// the project file.
func (p *Project) FunctionDocuments(arch string) ([]manifest.Document, error) {
	functions, err := p.Functions()
	if err != nil {
		return nil, err
	}
	dependencies, err := p.dependencyDocument()
	if err != nil {
		return nil, err
	}
	all := []manifest.Document{dependencies}
	for _, f := range functions {
		path := "./" + p.Paths.Functions + "/" + f.Name
		if f.Tarball != "" {
			if _, err := p.tarball(f, arch); err != nil {
				return nil, err
			}
			path = "./" + f.Tarball + "-" + arch + ".tar"
			if _, err := os.Stat(p.Dir(path)); err != nil {
				path += ".gz"
			}
		}
		text, err := json.Marshal(map[string]any{
			"apiVersion": pkgVersion, "kind": "Function",
			"metadata": map[string]any{"name": p.FunctionRef(f.Name)}, "spec": map[string]any{"package": path},
		})
		if err != nil {
			return nil, fmt.Errorf("describing function %q: %w", f.Name, err)
		}
		all = append(all, manifest.Document{Path: p.Path, Line: max(1, p.lineOf(f.Field)), Text: text})
	}
	return all, nil
}

func (p *Project) lineOf(field string) int {
	if field == "" {
		return 1
	}
	return p.doc.Lines().Of(field)
}

// dependencyDocument returns package metadata whose dependencies are on their lines of the
// project file, for messages about them.
func (p *Project) dependencyDocument() (manifest.Document, error) {
	var text strings.Builder
	fmt.Fprintf(&text, `{"apiVersion": %q, "kind": "Configuration", "metadata": {"name": %q}, "spec": {"dependsOn": [`, metaVersion, p.Name)
	lines, line := p.doc.Lines(), 1
	first := true
	for _, d := range p.Dependencies {
		if d.XPkg == nil || d.XPkg.APIOnly {
			continue
		}
		entry, err := json.Marshal(map[string]string{"apiVersion": d.XPkg.APIVersion, "kind": d.XPkg.Kind, "package": d.XPkg.Package, "version": d.XPkg.Version})
		if err != nil {
			return manifest.Document{}, fmt.Errorf("describing %s: %w", d.Field, err)
		}
		if !first {
			text.WriteString(",")
		}
		for first = false; line < lines.Of(d.Field); line++ {
			text.WriteString("\n")
		}
		text.Write(entry)
	}
	text.WriteString("]}}\n")
	return manifest.Document{Path: p.Path, Line: 1, Text: []byte(text.String())}, nil
}

// CompositionFor returns the Composition of the project for composite resources of a type,
// and the XRD of the type, whose Text is nil if the project has none.
func (p *Project) CompositionFor(apiVersion, kind string) (composition, xrd manifest.Document, err error) {
	sources, _, err := p.collect()
	if err != nil {
		return composition, xrd, err
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	var found []string
	for _, s := range sources {
		docs, err := manifest.Split(s.Path, s.Data)
		if err != nil {
			return composition, xrd, err
		}
		for _, d := range docs {
			of, _ := kindOf(d)
			switch {
			case slices.Contains(apiKinds[:2], of) && defines(d, group, kind):
				xrd = d
			case of == apiKinds[2] && composes(d, apiVersion, kind):
				composition, found = d, append(found, d.Position())
			}
		}
	}
	switch len(found) {
	case 0:
		return composition, xrd, fmt.Errorf("no Composition in %q is for kind %s of %s", p.Dir(p.Paths.APIs), kind, apiVersion)
	case 1:
		return composition, xrd, nil
	default:
		err := fmt.Errorf("several Compositions are for kind %s of %s: %s", kind, apiVersion, strings.Join(found, ", "))
		return composition, xrd, hint.Wrap(err, "name the file of one of them as the second argument")
	}
}

func defines(d manifest.Document, group, kind string) bool {
	var o struct {
		Spec struct {
			Group string
			Names struct{ Kind string }
		}
	}
	return d.Decode(&o) == nil && o.Spec.Group == group && o.Spec.Names.Kind == kind
}

func composes(d manifest.Document, apiVersion, kind string) bool {
	var o struct {
		Spec struct {
			CompositeTypeRef struct{ APIVersion, Kind string }
		}
	}
	ref := &o.Spec.CompositeTypeRef
	return d.Decode(&o) == nil && ref.APIVersion == apiVersion && ref.Kind == kind
}
