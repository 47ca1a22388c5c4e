package project

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/fsx"
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
	all := []manifest.Document{p.DependencyDocument(false)}
	for _, f := range functions {
		path := "./" + p.Paths.Functions + "/" + f.Name
		if f.Tarball != "" {
			file, err := p.tarball(f, arch)
			if err != nil {
				return nil, err
			}
			path = "./" + f.Tarball + strings.TrimPrefix(file, p.Dir(f.Tarball))
		}
		line := 1
		if f.Field != "" {
			line = max(1, p.Line(f.Field))
		}
		doc, err := manifest.Encode(p.Path, line, map[string]any{
			"apiVersion": pkgVersion, "kind": "Function",
			"metadata": map[string]any{"name": p.FunctionRef(f.Name)}, "spec": map[string]any{"package": path},
		})
		if err != nil {
			return nil, fmt.Errorf("describing function %q: %w", f.Name, err)
		}
		all = append(all, doc)
	}
	return all, nil
}

// DependencyDocument returns package metadata with the dependencies, with or without
// dependencies that are needed for their schemas only. They have their lines in the project
// file, for messages about them.
func (p *Project) DependencyDocument(apiOnly bool) manifest.Document {
	var text strings.Builder
	fmt.Fprintf(&text, `{"apiVersion": %q, "kind": "Configuration", "metadata": {"name": %q}, "spec": {"dependsOn": [`, metaVersion, p.Name)
	lines, line := sync.OnceValue(p.doc.Lines), 1
	first := true
	for _, d := range p.Dependencies {
		if d.XPkg == nil || d.XPkg.APIOnly && !apiOnly {
			continue
		}
		entry, _ := json.Marshal(map[string]string{"apiVersion": d.XPkg.APIVersion, "kind": d.XPkg.Kind, "package": d.XPkg.Package, "version": d.XPkg.Version})
		if !first {
			text.WriteString(",")
		}
		for first = false; line < lines().Of(d.Field); line++ {
			text.WriteString("\n")
		}
		text.Write(entry)
	}
	text.WriteString("]}}\n")
	return manifest.Document{Path: p.Path, Line: 1, Text: []byte(text.String())}
}

// APIFolders returns the folder of the APIs and all folders below it. It does not follow links.
func (p *Project) APIFolders() ([]string, error) {
	var folders []string
	root := p.Dir(p.Paths.APIs)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the APIs in %q: %w", root, fsx.Cause(err))
	}
	return folders, nil
}

// APIs are the documents of a project about a kind.
type APIs struct {
	// Composition is the Composition for composite resources of the kind. It is empty for a kind of
	// claims.
	Composition manifest.Document
	// XRD defines the kind. Its Text is nil if the project has no such XRD.
	XRD manifest.Document
	// Claim is true if the kind is the kind of a claim.
	Claim bool
}

// APIsFor returns the APIs of composite resources or claims of a kind. If a kind that is not a
// claim does not have exactly one Composition, this is an error.
func (p *Project) APIsFor(apiVersion, kind string) (apis APIs, err error) {
	group, _, _ := strings.Cut(apiVersion, "/")
	var found []string
	others := map[kindRef]string{} // The position of each other kind that a Composition is for.
	err = p.eachAPI(func(of string, d manifest.Document) {
		switch {
		case slices.Contains(apiKinds[:2], of):
			if xr, claim := defines(d, group, kind); xr || claim {
				apis.XRD, apis.Claim = d, claim
			}
		case of == apiKinds[2]:
			var o struct {
				Spec struct{ CompositeTypeRef kindRef }
			}
			_ = d.Decode(&o) // An invalid Composition is for no kind.
			if ref := o.Spec.CompositeTypeRef; ref == (kindRef{apiVersion, kind}) {
				apis.Composition, found = d, append(found, d.Position())
			} else {
				others[ref] = d.PositionOf("spec.compositeTypeRef")
			}
		}
	})
	if err != nil {
		return apis, err
	}
	switch {
	case apis.Claim || len(found) == 1:
		return apis, nil
	case len(found) == 0:
		err := fmt.Errorf("no Composition in %q is for kind %s of %s", p.Dir(p.Paths.APIs), kind, apiVersion)
		const write = "write one with xfn composition generate and the file of the XRD"
		return apis, hint.Wrap(err, nearKind(kindRef{apiVersion, kind}, others)+write)
	default:
		err := fmt.Errorf("several Compositions are for kind %s of %s: %s", kind, apiVersion, strings.Join(found, ", "))
		return apis, hint.Wrap(err, "name the file of one of them as the second argument")
	}
}

// Definition returns the XRD that defines a kind of composite resources. Its Text is nil if the
// project has no such XRD.
func (p *Project) Definition(group, kind string) (xrd manifest.Document, err error) {
	err = p.eachAPI(func(of string, d manifest.Document) {
		if xr, _ := defines(d, group, kind); xr && slices.Contains(apiKinds[:2], of) {
			xrd = d
		}
	})
	return xrd, err
}

// eachAPI calls do for each document of the Configuration with its apiVersion and kind.
func (p *Project) eachAPI(do func(kind string, d manifest.Document)) error {
	files, _, err := p.collect()
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.err != nil {
			return f.err
		}
		for _, d := range f.docs {
			kind, _ := kindOf(d)
			do(kind, d)
		}
	}
	return nil
}

// defines reports whether an XRD defines a kind, and whether it is the kind of composite resources
// or of claims.
func defines(d manifest.Document, group, kind string) (xr, claim bool) {
	var o struct {
		Spec struct {
			Group             string
			Names, ClaimNames struct{ Kind string }
		}
	}
	if d.Decode(&o) != nil || o.Spec.Group != group {
		return false, false
	}
	return o.Spec.Names.Kind == kind, o.Spec.ClaimNames.Kind == kind
}

// Existing returns the path of a directory of the project, or no path if it does not exist. A link
// that leads out of the project is an error.
func (p *Project) Existing(path string) ([]string, error) {
	root, err := p.realRoot()
	if err != nil {
		return nil, err
	}
	if exists, err := isInside(root, p.Dir(path)); err != nil || !exists {
		return nil, err
	}
	return []string{p.Dir(path)}, nil
}

type kindRef struct{ APIVersion, Kind string }

// nearKind returns the beginning of a hint that suggests the kind or apiVersion of an entry of
// others with the same or a similar kind. It returns "" if there is no such entry.
func nearKind(ref kindRef, others map[kindRef]string) string {
	all := slices.SortedFunc(maps.Keys(others), func(a, b kindRef) int { return cmp.Compare(others[a], others[b]) })
	var kinds []string
	for _, other := range all {
		if other.Kind == ref.Kind {
			return fmt.Sprintf("did you mean apiVersion: %s, as in %s? Otherwise, ", other.APIVersion, others[other])
		}
		kinds = append(kinds, other.Kind)
	}
	if i := slices.Index(kinds, hint.Nearest(ref.Kind, kinds)); i >= 0 {
		return fmt.Sprintf("did you mean kind: %s, as in %s? Otherwise, ", kinds[i], others[all[i]])
	}
	return ""
}
