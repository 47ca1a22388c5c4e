package xpkg

import (
	"context"
	"fmt"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A rule finds what is wrong with a package.
type rule func(context.Context, content) Problems

// rules are all that a package is judged by, once its documents are decoded.
// LintRules describes what they find.
var rules = []rule{
	crossplaneVersion, dependencies, capabilities,
	names, duplicates, removedAPIs, schemas,
	examples,
}

// A Rule finds what is wrong with the objects of a package besides its metadata,
// for who knows more of them than this package does. It is given what the package
// itself defines, and stops early once ctx is done.
type Rule func(ctx context.Context, objects []Document, defined schema.Definitions) Problems

// A Document is an object of a package and the text that it was read from.
type Document struct {
	Object
	Text manifest.Document
}

// lint returns what all rules find, and then what others do. Rules stop early
// once ctx is done, which is an error here: what they did not find is not known.
func lint(ctx context.Context, c content, others []Rule) (Problems, error) {
	var found Problems
	for _, r := range rules {
		found = append(found, r(ctx, c)...)
	}
	if len(others) > 0 {
		objects, defined := c.documents(), c.definitions()
		for _, r := range others {
			found = append(found, r(ctx, objects, defined)...)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return found, nil
}

// A finding collects what is wrong with fields of one document.
type finding struct {
	doc      manifest.Document
	lines    *manifest.Lines
	problems Problems
}

// add adds a problem with a field, which is not refused.
func (f *finding) add(rule, field, hint, text string, args ...any) {
	if f.lines == nil {
		lines := f.doc.Lines()
		f.lines = &lines
	}
	f.problems = append(f.problems, Problem{
		Rule: rule, Path: f.doc.Path, Line: f.lines.Of(field),
		Text: fmt.Sprintf(text, args...), Hint: hint,
	})
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
