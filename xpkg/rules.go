package xpkg

import (
	"context"
	"fmt"

	"github.com/xfn-dev/xfn/internal/manifest"
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

// A Rule finds problems in the objects of a package, besides its metadata. Read
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

// lint returns what all rules find, and then what others do. Rules stop early
// once ctx is done, which is an error here: what they did not find is not known.
func lint(ctx context.Context, c content, others []Rule) (Problems, error) {
	var found Problems
	for _, r := range rules {
		found = append(found, r(ctx, c)...)
	}
	if len(others) > 0 {
		objects := c.documents()
		for _, r := range others {
			found = append(found, r(ctx, objects)...)
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
