package foreign

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// A builder collects the content of a case, and where each part is in the document that it is
// converted from.
type builder struct {
	ctx    context.Context
	reader manifest.Reader
	doc    manifest.Document
	lines  func() manifest.Lines
	fields map[string]any
	// base is the path in the document of the object with the test, and a dot, or "".
	base string
	// origins has the path in the object of each path in fields.
	origins map[string]string
	errs    []error
	// warnings are about fields that have no effect.
	warnings []error
}

func newBuilder(ctx context.Context, r manifest.Reader, doc manifest.Document) *builder {
	return &builder{ctx: ctx, reader: r, doc: doc, lines: sync.OnceValue(doc.Lines), fields: map[string]any{}, origins: map[string]string{}}
}

// set sets the field at a path in the case. from is the path in the object.
func (b *builder) set(value any, from string, to ...string) {
	at := b.fields
	for _, key := range to[:len(to)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	at[to[len(to)-1]] = value
	b.origins[manifest.JoinPath(to)] = from
}

func (b *builder) fail(field string, err error) { b.errs = append(b.errs, b.at(field, err)) }

func (b *builder) warn(field, text string) {
	b.warnings = append(b.warnings, b.at(field, errors.New(text)))
}

// at adds the position of a field in the object to an error.
func (b *builder) at(field string, err error) error {
	field = b.base + field
	return &manifest.Error{Path: b.doc.Path, Line: b.lines().Of(field), Err: fmt.Errorf("%s: %w", field, err)}
}

// line implements spec.Converted.Line. at is the path of the test in the object.
func (b *builder) line(at string) func(path []string) int {
	return func(path []string) int {
		for i := len(path); i > 0; i-- {
			if from, ok := b.origins[manifest.JoinPath(path[:i])]; ok {
				return b.lines().Of(b.base + manifest.JoinPath(append([]string{from}, path[i:]...)))
			}
		}
		return b.lines().Of(strings.TrimSuffix(b.base+at, "."))
	}
}

func (b *builder) converted(name, at string) spec.Converted {
	return spec.Converted{Name: name, Fields: b.fields, Line: b.line(at), Warnings: b.warnings, Err: errors.Join(b.errs...)}
}

// decode decodes a value strictly into the struct that into points to, except that a null is a
// missing value, and a number or a boolean can be a string. at is its path in the object. Unknown
// fields are passed to unknown.
func (b *builder) decode(value, into any, at string, unknown func(field string, fault manifest.DecodeFault)) {
	for _, f := range manifest.DecodeLenient(value, into) {
		field := manifest.JoinPath(append([]string{at}, f.Path...))
		b.fault(field, f, unknown)
	}
}

func (b *builder) fault(field string, f manifest.DecodeFault, unknown func(field string, fault manifest.DecodeFault)) {
	switch {
	case f.Unknown:
		unknown(field, f)
	case f.Decoded:
		b.warn(field, f.Text)
	default:
		b.fail(field, errors.New(f.Text))
	}
}

// first reads the first object of a file. The path is the file's path in the case.
func (b *builder) first(file string) (map[string]any, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(b.doc.Path), filepath.FromSlash(file))
	}
	obj, _, err := b.reader.FirstObject(b.ctx, file)
	return obj, err
}

var projectFiles = []string{"upbound.yaml", "crossplane-project.yaml"}

// depth limits how many folders above a test are searched for a project file.
const depth = 32

// root returns the path of the project's root from the folder dir: "" if dir is the root, or a
// number of "..". Without a project file, it is the working directory.
func root(fsys afero.Fs, dir string) string {
	up := ""
	for at := dir; len(up) < 3*depth; at, up = filepath.Join(at, ".."), up+"../" {
		for _, name := range projectFiles {
			if ok, err := afero.Exists(fsys, filepath.Join(at, name)); ok && err == nil {
				return up
			}
		}
	}
	rel, _ := fsx.Relative(dir, ".") // It is "" after an error: on Windows, the working directory may be on another drive.
	return filepath.ToSlash(rel)
}

// fromRoot returns the path of a file in the case for a path from the root of the project. The
// path cannot leave the project.
func (b *builder) fromRoot(file string) string {
	return path.Join(root(b.reader.FS, filepath.Dir(b.doc.Path)), path.Clean("/" + filepath.ToSlash(file))[1:])
}

// within reports whether the function is returns true for any string in v, and returns the path of
// the first such string.
func within(v any, at string, is func(string) bool) (string, bool) {
	switch v := v.(type) {
	case string:
		return at, is(v)
	case []any:
		for i, e := range v {
			if found, ok := within(e, fmt.Sprintf("%s[%d]", at, i), is); ok {
				return found, true
			}
		}
	case map[string]any:
		for _, key := range manifest.Keys(v) {
			field := strings.TrimPrefix(at+"."+key, ".")
			if is(key) {
				return field, true
			}
			if found, ok := within(v[key], field, is); ok {
				return found, true
			}
		}
	}
	return "", false
}

// programs are the languages of programs that print tests, by the name of their main file or by its
// extension.
var programs = map[string]string{
	"main.k": "KCL", "main.py": "Python", "__main__.py": "Python", "main.go": "Go", ".gotmpl": "go-templating",
}

func language(path string) string {
	return cmp.Or(programs[filepath.Base(path)], programs[filepath.Ext(path)])
}

// IsProgram reports whether a file name belongs to a program that may print tests of
// Upbound's CLI.
func IsProgram(path string) bool { return language(path) != "" }

// Program returns a test that is skipped if a program prints tests of Upbound's CLI. Programs
// are not run.
func Program(path string, text []byte) []spec.Converted {
	if !slices.ContainsFunc(Kinds(), func(kind string) bool { return bytes.Contains(text, []byte(kind)) }) {
		return nil
	}
	name := filepath.Base(path)
	reason := fmt.Sprintf("the tests are a program in %s, which is not run: write the tests that it prints to a YAML file", language(path))
	return []spec.Converted{{
		Name: name, Fields: map[string]any{"skip": reason}, Line: func([]string) int { return 1 },
		Warnings: []error{fmt.Errorf("%s: %s", path, reason)},
	}}
}
