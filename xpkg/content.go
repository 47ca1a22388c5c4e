package xpkg

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// content is the decoded documents of a package. Documents that cannot be decoded
// are missing.
type content struct {
	// meta is the first package metadata object, or the zero value.
	meta decoded
	// objects are the other objects of the package. Examples may be of any kind.
	objects, examples []decoded
}

// yaml returns package.yaml.
func (c content) yaml() []byte {
	parts := [][]byte{nil, c.meta.yaml}
	for _, d := range c.objects {
		parts = append(parts, d.yaml)
	}
	return bytes.Join(append(parts, nil), []byte("---\n"))
}

// assemble finds the one metadata object of a package and checks that this kind of
// package can contain the other objects. Problems name the package by where. If
// broken, metadata may be among the documents that could not be decoded.
func assemble(where string, all []decoded, broken bool) (content, Problems) {
	var c content
	var metas []decoded
	for _, d := range all {
		if isMeta(d.Object) {
			metas = append(metas, d)
			continue
		}
		c.objects = append(c.objects, d)
	}
	switch {
	case len(metas) == 0 && broken:
		return c, nil
	case len(metas) == 0:
		return c, Problems{{
			Rule: "metadata-count", Refused: true,
			Text: fmt.Sprintf("%s contains no package metadata: no .yaml or .yml file in it has an object of %s", where, metaGroup),
			Hint: string("write a crossplane.yaml, or name its directory with " + hint.PackageRoot),
		}}
	}
	c.meta = metas[0]
	if len(metas) > 1 {
		at := make([]string, len(metas))
		for i, m := range metas {
			at[i] = fmt.Sprintf("%s (%s %s)", m.Position(), m.Kind, m.Name)
		}
		return c, Problems{{
			Rule: "metadata-count", Refused: true,
			Text: fmt.Sprintf("%s contains %d package metadata objects, and must contain one: %s", where, len(metas), strings.Join(at, ", ")),
			Hint: string("leave files out with " + hint.Ignore + ", or move them out of the package root"),
		}}
	}
	var found Problems
	for _, d := range c.objects {
		if !allowed(c.meta.Kind, d.Object) {
			text := fmt.Sprintf("kind %s of %s cannot be in a %s package", d.Kind, d.APIVersion, c.meta.Kind)
			found = append(found, d.refused("kind-not-allowed", text, allowedHint(c.meta.Kind)))
		}
	}
	return c, found
}

// rules check the decoded documents of a package. LintRules describes them.
var rules = []func(context.Context, content, *finder){
	crossplaneVersion, dependencies, capabilities,
	names, duplicates, removedAPIs, schemas,
	examples,
}

// A Rule finds problems in the objects of a package, without its metadata. Read
// and Lint call it after their own rules. It returns early once ctx is done.
type Rule func(ctx context.Context, objects []Document) Problems

// A Document is an object of a package and its YAML.
type Document struct {
	Object
	// Text is the YAML document without its "---" line, and TextLine the line of
	// the file on which Text begins. It may begin with comments, so that Line is
	// the same or later.
	Text     []byte
	TextLine int
}

// lint returns the problems that all rules find. If ctx is done, lint returns its
// cause, because the rules stop early.
func lint(ctx context.Context, c content, others []Rule) (Problems, error) {
	var f finder
	for _, r := range rules {
		r(ctx, c, &f)
	}
	var objects []Document
	if len(others) > 0 {
		for _, d := range c.objects {
			objects = append(objects, Document{Object: d.Object, Text: d.doc.Text, TextLine: d.doc.Line})
		}
	}
	for _, r := range others {
		f.found = append(f.found, r(ctx, objects)...)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return f.found, nil
}

// A finder collects problems with fields of one document after the other.
type finder struct {
	found Problems
	doc   manifest.Document
	lines *manifest.Lines
}

// in sets the document of further problems.
func (f *finder) in(d decoded) { f.doc, f.lines = d.doc, nil }

// add adds a problem with a field, which is not refused.
func (f *finder) add(rule, field, hint, text string, args ...any) {
	if f.lines == nil {
		lines := f.doc.Lines()
		f.lines = &lines
	}
	f.found = append(f.found, Problem{
		Rule: rule, Path: f.doc.Path, Line: f.lines.Of(field),
		Text: fmt.Sprintf(text, args...), Hint: hint,
	})
}

// object returns the object at key of m, or an empty one.
func object(m map[string]any, key string) map[string]any {
	if o, ok := m[key].(map[string]any); ok {
		return o
	}
	return map[string]any{}
}

// list returns the list at key of m, or nil.
func list(m map[string]any, key string) []any {
	l, _ := m[key].([]any)
	return l
}

// text returns the string at key of m, or "".
func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}
