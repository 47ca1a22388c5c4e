package xpkg

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/xpkg"
)

// show returns the description of a package as text of so many columns, or without a limit
// if columns is 0.
func show(columns int, from string, d inspect.Description) string {
	p := newPage(columns)
	switch {
	case d.Package != nil:
		p.line("%s %s", d.Package.Kind, d.Package.Name)
	case isFile(from):
		p.line("An image that is not a package")
	default: // In a registry, layers without the mark are not read.
		p.line("An image without a layer that is marked as a package's (%s: base)", xpkg.Annotation)
	}
	p.line("  %s", d.Digest) // The digest is too long for a line with a label.
	p.pair("from", from)
	p.pair("size", fmt.Sprintf("%s in %s", terminal.Size(d.Size), terminal.Count(len(d.Images), "image")))
	if d.Package != nil {
		p.metadata(d.Package)
		p.objects(d.Package.Objects)
	}
	p.pairs(0, "Annotations of the index", d.Annotations)
	for _, img := range d.Images {
		p.image(img, len(d.Images) > 1)
	}
	if len(d.Notes) > 0 {
		p.section("Notes")
		for _, n := range d.Notes {
			p.wrapped(n)
		}
	}
	return p.String()
}

func (p *page) metadata(pkg *inspect.Package) {
	p.pair("apiVersion", pkg.APIVersion)
	p.pair("crossplane", pkg.Crossplane)
	p.pair("capabilities", strings.Join(pkg.Capabilities, ", "))
	p.pairs(0, "Labels", pkg.Labels)
	p.pairs(0, "Annotations", pkg.Annotations)
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

func shortKind(kind string) string {
	short := map[string]string{
		"CustomResourceDefinition": "CRD", "CompositeResourceDefinition": "XRD", "ManagedResourceDefinition": "MRD",
	}
	return cmp.Or(short[kind], kind)
}

func defines(d crd.Definition) string {
	text := d.Kind
	if d.Claim != "" {
		text += " (claim " + d.Claim + ")"
	}
	versions := make([]string, len(d.Versions))
	for i, v := range d.Versions {
		if versions[i] = v.Name; !v.Served {
			versions[i] += " (not served)"
		}
	}
	return text + " " + strings.Join(versions, ", ")
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
	// Labels that mark layers are printed with the layers.
	maps.DeleteFunc(labels, func(key, _ string) bool { return strings.HasPrefix(key, xpkg.Annotation+":") })
	p.pairs(gap, "labels", labels)
	p.pairs(gap, "annotations", img.Annotations)
	var rows [][]string
	for _, l := range img.Layers {
		rows = append(rows, []string{terminal.ShortDigest(l.Digest), terminal.Size(l.Size), meaning(l.Mark)})
	}
	if len(rows) > 0 {
		p.line("  layers")
		p.rows(2*gap, rows)
	}
}

// meaning returns the mark of a layer, such as "base", with the content of such a layer.
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

// A page is text without control characters. It clips lines to width.
type page struct {
	strings.Builder
	width int
}

// newPage returns a page of so many columns, or without a limit if columns is 0.
func newPage(columns int) *page { return &page{width: cmp.Or(columns, math.MaxInt32)} }

// line prints a line without control characters, cut to the width of the page.
func (p *page) line(format string, args ...any) {
	fmt.Fprintln(p, clip(plainLine(fmt.Sprintf(format, args...)), p.width))
}

func (p *page) section(title string) {
	p.line("")
	p.line("%s", title)
}

// pair prints a name and its value, unless that is empty.
func (p *page) pair(name, value string) {
	if value != "" {
		p.line("  %-13s %s", name, value)
	}
}

// pairs prints a title, which begins a section unless it is indented, and names and
// their values below it.
func (p *page) pairs(indent int, title string, m map[string]string) {
	if len(m) > 0 && indent == 0 {
		p.line("")
	}
	if len(m) > 0 {
		p.line("%*s%s", indent, "", title)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		p.line("%*s%s: %s", indent+gap, "", clip(plainLine(key), p.width/2), m[key])
	}
}

func (p *page) table(title string, rows [][]string) {
	if len(rows) > 0 {
		p.section(title)
		p.rows(gap, rows)
	}
}

// maxPad is the width to which columns are padded. A longer cell, which is not clipped without
// a terminal, only moves the rest of its own row.
const maxPad = 80

// gap is the number of blanks between columns.
const gap = 2

// rows prints rows in columns after an indent. It clips the widest columns.
func (p *page) rows(indent int, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = plainLine(cell)
			if len(widths) == i {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	fit(widths, p.width-indent+gap)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = fmt.Sprintf("%-*s", min(widths[i], maxPad), clip(cell, widths[i]))
		}
		p.line("%*s%s", indent, "", strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " "))
	}
}

// fit makes the widest columns narrower until all fit in a line with their gaps.
func fit(widths []int, line int) {
	for {
		sum, widest := 0, 0
		for i, n := range widths {
			sum += gap + n
			if n > widths[widest] {
				widest = i
			}
		}
		if sum <= line {
			return
		}
		widths[widest] -= min(sum-line, max(1, widths[widest]-line/len(widths)))
	}
}

func (p *page) wrapped(text string) {
	for _, line := range report.Wrap(oneLine(terminal.Printable(text)), p.width-gap) {
		p.line("%*s%s", gap, "", line)
	}
}

// plainLine returns text without line breaks, tabs and control characters.
func plainLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(terminal.Printable(text))
}

func clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
