package spec

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Case is a case of a suite, or one row of its table.
type Case struct {
	// Name is unique in the suite. If it is not, Spec returns an error.
	Name string

	suite  *Suite
	index  int
	raw    map[string]any
	row    any
	hasRow bool
	err    error
	// origin returns the line of a field of a case that was converted from another format.
	origin func(path []string) int
	// renamed has the original keys, before variables were replaced, by path.
	renamed map[string]string
}

// mergeable are the fields that are merged with the defaults, not replaced.
var mergeable = []string{"context", "contextFiles", "mocks", "expect"}

// Spec returns the content of the case, merged with the defaults and with the
// variables of its table row replaced. Its error joins all errors, each a
// *manifest.Error. It changes the case: concurrent callers need copies.
func (c *Case) Spec() (CaseSpec, error) {
	if c.err != nil {
		return CaseSpec{}, c.err
	}
	value, err := c.Fields()
	var f CaseSpec
	if err != nil {
		// A misspelled each is the reason why its variables are unknown.
		for _, fault := range manifest.DecodeStrict(c.raw, &f) {
			if fault.Unknown {
				return CaseSpec{}, c.errorAt(fault.Path, explained(fault))
			}
		}
		return CaseSpec{}, err
	}
	var errs []error
	for _, fault := range manifest.DecodeStrict(value, &f) {
		errs = append(errs, c.errorAt(fault.Path, explained(fault)))
	}
	return f, errors.Join(errs...)
}

// Fields returns the content of the case as in a file, merged with the defaults and with the
// variables of its table row replaced. Like Spec, it changes the case.
func (c *Case) Fields() (map[string]any, error) {
	said := merged(c.suite.defaults, c.raw)
	delete(said, "each")
	c.renamed = map[string]string{}
	value, err := c.replace(said, nil)
	return fieldpath.Map(value), err
}

// Raw returns a field of Fields before variables are replaced, and whether the case has it.
func (c *Case) Raw(name string) (value any, has bool) {
	value, has = merged(c.suite.defaults, c.raw)[name]
	return value, has
}

// Inherits reports whether the case does not set a field itself, and so has the field of the
// defaults.
func (c *Case) Inherits(field string) bool {
	_, own := c.raw[field]
	return !own
}

// Own returns a field as the case has it in the file, before variables are replaced. It returns nil
// if the defaults have the field too, because the case then replaces it.
func (c *Case) Own(path ...string) any {
	path = c.original(path)
	if _, depth := walk(c.suite.defaults, path); depth == len(path) {
		return nil
	}
	value, depth := walk(c.raw, path)
	if depth < len(path) {
		return nil
	}
	return value
}

// IsLiteral reports whether a field is in the file, in the case or the defaults, without a variable in
// its path or value.
func (c *Case) IsLiteral(path ...string) bool {
	path = c.original(path)
	from := c.raw
	if c.isDefault(path) {
		from = c.suite.defaults
	}
	value, depth := walk(from, path)
	return depth == len(path) && !usesRow(value) && !slices.ContainsFunc(path, hasVariable)
}

// UsesRow reports whether the case has no table, or uses the row of its table.
func (c *Case) UsesRow() bool {
	for key, v := range c.raw {
		if key != "each" && usesRow(v) { // The table itself may have thousands of rows.
			return true
		}
	}
	return !c.hasRow || usesRow(c.suite.defaults)
}

// usesRow reports whether a text or a key in v has a variable.
func usesRow(v any) bool {
	switch v := v.(type) {
	case string:
		return hasVariable(v)
	case []any:
		return slices.ContainsFunc(v, usesRow)
	case map[string]any:
		for key, e := range v {
			if hasVariable(key) || usesRow(e) {
				return true
			}
		}
	}
	return false
}

// InDefaults reports whether a line of the suite's file is in the defaults.
func (c *Case) InDefaults(line int) bool {
	if c.origin != nil || c.suite.defaults == nil {
		return false
	}
	lines := c.suite.lines()
	first, next := lines.Of("defaults"), lines.Of("cases")
	return line >= first && (line < next || next < first)
}

// DefaultXR returns the composite resource in the suite's defaults, with the
// variables of the case's row replaced, and whether the defaults have one.
func (c *Case) DefaultXR() (XR, bool, error) {
	raw, ok := c.suite.defaults["xr"]
	if !ok {
		return XR{}, false, nil
	}
	value, err := c.replace(raw, []string{"xr"})
	if err != nil {
		return XR{}, true, err
	}
	var xr XR
	if faults := manifest.DecodeStrict(value, &xr); len(faults) > 0 {
		faults[0].Path = append([]string{"defaults", "xr"}, faults[0].Path...)
		return xr, true, c.suite.fault(faults[0])
	}
	return xr, true, nil
}

// DefaultError returns err with the position of a field of the suite's defaults.
func (c *Case) DefaultError(err error, path ...string) error {
	return c.suite.errorAt(append([]string{"defaults"}, path...), err)
}

func merged(defaults, own map[string]any) map[string]any {
	all := maps.Collect(maps.All(defaults)) // not nil
	for key, v := range own {
		was, is := all[key], v
		if slices.Contains(mergeable, key) && !(key == "expect" && expectsFailure(v)) {
			is = mergeValues(was, v)
		}
		if all[key] = is; is == nil {
			delete(all, key)
		}
	}
	return all
}

// expectsFailure reports whether expect says that the render must fail. The
// defaults of expect do not apply to such a case.
func expectsFailure(expect any) bool {
	return fieldpath.At(expect, "fatal") != nil || fieldpath.At(expect, "error") != nil
}

// mergeValues returns value with other merged into it. Objects are merged, a
// null in other removes the key, and any other value in other replaces.
func mergeValues(value, other any) any {
	to, ok := value.(map[string]any)
	with, isObject := other.(map[string]any)
	if !ok || !isObject {
		return other
	}
	to = maps.Clone(to)
	for key, v := range with {
		if was, has := to[key]; has && v == nil {
			delete(to, key)
		} else {
			to[key] = mergeValues(was, v)
		}
	}
	return to
}

// Line returns the line on which the case begins.
func (c *Case) Line() int { return c.Position() }

// Position returns the line of a field of the case, which may be inherited from
// the defaults. The path consists of keys, and indexes in the form "[0]".
func (c *Case) Position(path ...string) int {
	if c.origin != nil {
		return c.origin(c.original(path))
	}
	path = c.original(path)
	own := "cases[" + strconv.Itoa(c.index) + "]"
	if c.isDefault(path) {
		own = "defaults"
	}
	return c.suite.lines().Of(manifest.JoinPath(append([]string{own}, path...)))
}

func (c *Case) errorAt(path []string, err error) error {
	return &manifest.Error{Path: c.suite.Document.Path, Line: c.Position(path...), Err: err}
}

// isDefault reports whether the defaults contain more of a path than the case, and the case does not
// replace what they contain, such as by a list.
func (c *Case) isDefault(path []string) bool {
	last, inCase := walk(c.raw, path)
	_, inDefaults := walk(c.suite.defaults, path)
	_, merges := last.(map[string]any)
	return merges && inDefaults > inCase
}

// original returns path with the keys as in the file, before replacement.
func (c *Case) original(path []string) []string {
	out := slices.Clone(path)
	for i := range path {
		if key, ok := c.renamed[strings.Join(path[:i+1], "\x00")]; ok {
			out[i] = key
		}
	}
	return out
}

// walk returns the value at path in v, and the number of segments that exist. If not all exist, the
// value is the value at the last existing segment.
func walk(v any, path []string) (value any, depth int) {
	for i, key := range path {
		next, ok := get(v, key)
		if !ok {
			return v, i
		}
		v = next
	}
	return v, len(path)
}

func get(v any, key string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if e, ok := v[key]; ok {
			return e, true
		}
	case []any:
		i, err := strconv.Atoi(strings.Trim(key, "[]"))
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return v, key == "[0]" && v != nil // A list of one element may be written without brackets.
}
