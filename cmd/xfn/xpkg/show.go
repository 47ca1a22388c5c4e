package xpkg

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/xpkg"
)

// show prints a package for people, in lines of a terminal's usual width.
func show(w io.Writer, from string, d inspect.Description) error {
	p := &page{w: w}
	switch {
	case d.Package != nil:
		p.line("%s %s", d.Package.Kind, d.Package.Name)
	case isFile(from):
		p.line("An image that is no package")
	default: // Its layers were not searched.
		p.line("An image of which no layer is marked as a package's (%s: base)", xpkg.Annotation)
	}
	p.line("  %s", d.Digest) // It fits without a name only.
	p.pair("from", from)
	p.pair("size", fmt.Sprintf("%s in %s", terminal.Size(d.Size), terminal.Count(len(d.Images), "image")))
	if d.Package != nil {
		p.metadata(d.Package)
		p.objects(d.Package.Objects)
	}
	p.pairs("Annotations of the index", d.Annotations)
	for _, img := range d.Images {
		p.image(img, len(d.Images) > 1)
	}
	if len(d.Notes) > 0 {
		p.section("Notes")
		for _, n := range d.Notes {
			p.wrapped(n)
		}
	}
	return p.err
}

func (p *page) metadata(pkg *inspect.Package) {
	p.pair("apiVersion", pkg.APIVersion)
	p.pair("crossplane", pkg.Crossplane)
	p.pair("capabilities", strings.Join(pkg.Capabilities, ", "))
	p.pairs("Labels", pkg.Labels)
	p.pairs("Annotations", pkg.Annotations)
	var rows [][]string
	for _, d := range pkg.DependsOn {
		rows = append(rows, []string{d.Kind, d.Package, d.Version})
	}
	p.table("Dependencies", rows)
}

func (p *page) objects(objects []inspect.Object) {
	var rows [][]string
	for _, o := range objects {
		row := []string{shortKind(o.Kind), o.Name, o.APIVersion}
		if o.Defines != nil {
			row[2] = defines(*o.Defines)
		}
		rows = append(rows, row)
	}
	p.table("Objects", rows)
}

// shortKind is a kind as people say it.
func shortKind(kind string) string {
	switch kind {
	case "CustomResourceDefinition":
		return "CRD"
	case "CompositeResourceDefinition":
		return "XRD"
	case "ManagedResourceDefinition":
		return "MRD"
	default:
		return kind
	}
}

// defines says which kind in which versions a definition defines. Its group is
// in the definition's name.
func defines(d crd.Definition) string {
	text := d.Kind
	if d.Claim != "" {
		text += " (claim " + d.Claim + ")"
	}
	for i, v := range d.Versions {
		sep := ", "
		if i == 0 {
			sep = " "
		}
		text += sep + v.Name
		if !v.Served {
			text += " (not served)"
		}
	}
	return text
}

func (p *page) image(img inspect.Image, several bool) {
	title := "Image"
	if img.Platform != "" {
		title += " for " + img.Platform
	}
	p.section(title)
	if several {
		p.line("  %s", img.Digest)
		p.pair("size", terminal.Size(img.Size))
	}
	p.pair("created", img.Created)
	p.pair("entrypoint", strings.Join(img.Entrypoint, " "))
	p.pair("cmd", strings.Join(img.Cmd, " "))
	p.pair("user", img.User)
	labels := maps.Clone(img.Labels)
	// Marks of layers stand beside the layers.
	maps.DeleteFunc(labels, func(key, _ string) bool { return strings.HasPrefix(key, xpkg.Annotation+":") })
	p.nested("labels", labels)
	p.nested("annotations", img.Annotations)
	var rows [][]string
	for _, l := range img.Layers {
		rows = append(rows, []string{terminal.ShortDigest(l.Digest), terminal.Size(l.Size), meaning(l.Mark)})
	}
	if len(rows) > 0 {
		p.line("  layers")
		p.rows(2*gap, rows)
	}
}

// meaning says what a layer's mark means.
func meaning(mark string) string {
	switch mark {
	case xpkg.BaseMark:
		return "base: package.yaml"
	case xpkg.ExamplesMark:
		return "upbound: examples"
	default:
		return mark
	}
}

// keys are those of a map in their order.
func keys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
