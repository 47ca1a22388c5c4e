package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// DiffCmd compares packages.
type DiffCmd struct {
	From string `arg:"" help:"Package file or reference of the old version."`
	To   string `arg:"" help:"Package file or reference of the new version."`

	FailOn string `enum:"never,breaking,any" default:"never" help:"Exit with 1 if there are changes of this kind: ${enum}. Default: ${default}."`
	terminal.Format
	registryFlags
}

// Help is shown by --help.
func (DiffCmd) Help() string {
	return `Shows changes of the metadata, the objects, the schemas of CRDs and XRDs, and the images. A change is breaking if a valid object may be refused or lose fields afterwards, or if something that others use is removed: a version, a field, a definition, a Composition, a platform. --format json and yaml keep their structure: from, to, breaking, changed, metadata, objects (with fields and schema), images (with config and layers).

Examples:

    xfn xpkg diff registry.example.org/acme/hello:v0.1.0 hello.xpkg
    xfn xpkg diff old.xpkg new.xpkg --fail-on breaking
`
}

// Run prints the differences.
func (c *DiffCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	from, err := c.describe(ctx, p, c.From)
	if err != nil {
		return err
	}
	to, err := c.describe(ctx, p, c.To)
	if err != nil {
		return err
	}
	d := inspect.Compare(from, to)
	d.From.Name, d.To.Name = c.From, c.To
	if err := c.Print(term, d, showDiff(term.Columns, d)); err != nil {
		return err
	}
	switch {
	case c.FailOn == "breaking" && d.Breaking:
		return errors.New("there are breaking changes")
	case c.FailOn == "any" && d.Changed:
		return errors.New("the packages are not the same")
	default:
		return nil
	}
}

// showDiff returns the differences between two packages as text of so many columns, or
// without a limit if columns is 0.
func showDiff(columns int, d inspect.Diff) string {
	p := newPage(columns)
	for i, side := range []inspect.Side{d.From, d.To} {
		p.line("%c %s", "-+"[i], side.Name)
		p.line("  %s", side.Digest)
		p.line("  %s", terminal.Size(side.Size))
	}
	if !d.Changed {
		p.section("The packages are the same.")
		return p.String()
	}
	if len(d.Metadata) > 0 {
		p.section("Metadata")
		p.fields(gap, d.Metadata)
	}
	if len(d.Objects) > 0 {
		p.section("Objects")
	}
	for _, o := range d.Objects {
		p.object(o)
	}
	if len(d.Images) > 0 {
		p.section("Images")
	}
	for _, img := range d.Images {
		p.imageDiff(img)
	}
	if d.Breaking {
		p.section("There are breaking changes: they are marked with !.")
	} else {
		p.section("Nothing breaks.")
	}
	return p.String()
}

// sign returns the mark of a change: "!" if it is breaking, then "+", "-" or "~".
func sign(change string, breaking bool) string {
	mark := " "
	if breaking {
		mark = "!"
	}
	return mark + cmp.Or(map[string]string{inspect.Added: "+", inspect.Removed: "-"}[change], "~")
}

// fields prints the fields that differ. Values that are too long for the line
// of the field are printed below it.
func (p *page) fields(indent int, fields []inspect.Field) {
	for _, f := range fields {
		text := fmt.Sprintf("%*s%s %s", indent-1, "", sign(f.Change, f.Breaking), plainLine(f.Path))
		was, is := p.value(f.From), p.value(f.To)
		values := ": " + is
		switch {
		case f.From == nil && f.To == nil:
			values = ""
		case f.Change == inspect.Changed:
			values = ": " + is + ", was " + was
		case f.Change == inspect.Removed:
			values = ": was " + was
		}
		if utf8.RuneCountInString(text+values) <= p.width {
			p.line("%s%s", text, values)
			continue
		}
		p.line("%s", text)
		if f.From != nil {
			p.line("%*s- %s", indent+2*gap, "", was)
		}
		if f.To != nil {
			p.line("%*s+ %s", indent+2*gap, "", is)
		}
	}
}

// value returns a value as JSON, clipped to a line.
func (p *page) value(v any) string {
	var b strings.Builder
	if err := manifest.WriteJSON(&b, "", v); err != nil {
		return "?"
	}
	return clip(plainLine(strings.TrimSpace(b.String())), p.width)
}

func (p *page) object(o inspect.ObjectDiff) {
	p.line(" %s %s %s", sign(o.Change, o.Breaking), shortKind(o.Kind), o.Name)
	for _, c := range o.Schema {
		p.change(c)
	}
	// A field without values is a schema, whose changes are printed above.
	p.fields(2*gap+1, slices.DeleteFunc(slices.Clone(o.Fields), func(f inspect.Field) bool {
		return f.From == nil && f.To == nil && len(o.Schema) > 0
	}))
}

func (p *page) change(c crd.Change) {
	mark := " "
	if c.Breaking {
		mark = "!"
	}
	switch {
	case c.Version == "":
		p.line("    %s %s", mark, c.Text)
	case c.Path == "":
		p.line("    %s %s: %s", mark, c.Version, c.Text)
	default:
		p.line("    %s %s %s: %s", mark, c.Version, clip(plainLine(c.Path), p.width/2), c.Text)
	}
}

func (p *page) imageDiff(img inspect.ImageDiff) {
	size := fmt.Sprintf("%s, was %s", terminal.Size(img.ToSize), terminal.Size(img.FromSize))
	switch img.Change {
	case inspect.Added:
		size = terminal.Size(img.ToSize)
	case inspect.Removed:
		size = "was " + terminal.Size(img.FromSize)
	}
	p.line(" %s %s: %s", sign(img.Change, img.Breaking), cmp.Or(img.Platform, "no platform"), size)
	p.fields(2*gap+1, img.Config)
	var rows [][]string
	for _, l := range img.Layers {
		rows = append(rows, []string{sign(l.Change, false) + " layer " + terminal.ShortDigest(l.Digest), terminal.Size(l.Size), meaning(l.Mark)})
	}
	p.rows(2*gap, rows)
	if img.Same > 0 {
		p.line("      %s the same, %s", terminal.Count(img.Same, "layer"), terminal.Size(img.SameSize))
	}
}
