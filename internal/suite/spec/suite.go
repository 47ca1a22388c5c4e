package spec

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

// MaxCases limits the number of cases of a suite, including the cases of tables.
const MaxCases = 100_000

// A Suite is a document of kind TestSuite. Case.Spec decodes each case
// separately, so that an error in one case does not affect the others.
type Suite struct {
	// Name is metadata.name, or "".
	Name string
	// Document is the source of the suite.
	Document manifest.Document
	// Cases are in the order of the file. Each row of a table is a case.
	Cases []*Case

	defaults  map[string]any
	lines     func() manifest.Lines
	converted bool
}

// Is reports whether an object is a suite, of any version of the format.
func Is(obj map[string]any) bool {
	apiVersion, _ := obj["apiVersion"].(string)
	return obj["kind"] == Kind && strings.HasPrefix(apiVersion, "xfn.dev/")
}

// Parse parses a suite. It returns all errors of the suite as a whole and of
// its defaults, each as a *manifest.Error.
func Parse(doc manifest.Document) (*Suite, error) {
	s := &Suite{Document: doc, lines: sync.OnceValue(doc.Lines)}
	obj, duplicate, err := doc.StrictObject()
	if err := cmp.Or(duplicate, err); err != nil {
		return nil, err
	}
	if err := s.checkKind(obj); err != nil {
		return nil, err
	}
	outer := maps.Clone(obj)
	list, isList := obj["cases"].([]any)
	if isList {
		outer["cases"] = []any{} // Case.Spec decodes the cases.
	}
	var f file
	var errs []error
	for _, fault := range manifest.DecodeStrict(outer, &f) {
		value, depth := walk(obj, fault.Path)
		// The type of a string with a variable is only known after the variable is replaced.
		if text, ok := value.(string); !ok || depth < len(fault.Path) || !hasVariable(text) {
			errs = append(errs, s.fault(fault))
		}
	}
	s.Name = f.Metadata.Name
	s.defaults, _ = obj["defaults"].(map[string]any)
	for _, field := range []string{"name", "skip"} {
		if _, ok := s.defaults[field]; ok {
			errs = append(errs, s.errorAt([]string{"defaults", field}, fmt.Errorf("defaults.%s: only a case can have this field", field)))
			break
		}
	}
	if len(errs) == 0 {
		errs = append(errs, s.addCases(list))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// checkKind returns an error for an object of Crossplane or Kubernetes, in place of an error
// for each of its fields.
func (s *Suite) checkKind(obj map[string]any) error {
	kind, _ := obj["kind"].(string)
	apiVersion, isText := obj["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	if kind == "" || kind == Kind || group == "xfn.dev" || hint.Nearest(kind, []string{Kind}) != "" {
		return nil
	}
	if !isText && obj["apiVersion"] != nil {
		return s.errorAt([]string{"apiVersion"}, fmt.Errorf("apiVersion must be a string, not %s", manifest.DescribeValue(obj["apiVersion"])))
	}
	next := "name the suite that tests this file, or write one with apiVersion: " + APIVersion + " and kind: " + Kind
	if near := schema.SimilarKind(apiVersion, kind); near != "" {
		next = "did you mean kind: " + near + "? If so, " + next
	}
	return s.errorAt([]string{"kind"}, hint.Wrap(&KindError{APIVersion: apiVersion, Kind: kind}, next))
}

// A KindError is the error about an object that is not a suite.
type KindError struct{ APIVersion, Kind string }

func (e *KindError) Error() string {
	return fmt.Sprintf("expected a suite, of kind %s, got kind %s of %s", Kind, e.Kind, cmp.Or(e.APIVersion, "no apiVersion"))
}

func (s *Suite) fault(f manifest.DecodeFault) error { return s.errorAt(f.Path, explained(f)) }

// explained returns f with what was probably meant: the other form of a fatal result, or of a field
// in a nested object.
func explained(f manifest.DecodeFault) manifest.DecodeFault {
	n := len(f.Path)
	switch {
	case n > 1 && f.Path[n-1] == "severity" && strings.HasSuffix(f.Text, `, got "Fatal"`):
		f.Text += ": a fatal result is expected by fatal"
	case n > 3 && f.Unknown && strings.HasPrefix(f.Text, "there is no such field, only equals, "):
		f.Text += ": a field is named by its whole path in one key, such as spec.forProvider.region"
	}
	return f
}

func (s *Suite) errorAt(path []string, err error) error {
	return &manifest.Error{Path: s.Document.Path, Line: s.lines().Of(manifest.JoinPath(path)), Err: err}
}

func (s *Suite) addCases(list []any) error {
	if len(list) == 0 {
		return s.errorAt([]string{"cases"}, errors.New("the suite has no cases"))
	}
	names := map[string]*Case{}
	for i, raw := range list {
		obj, _ := raw.(map[string]any)
		for _, c := range s.rows(i, raw, obj) {
			if other := names[c.Name]; other != nil && c.err == nil {
				c.err = hint.Wrap(c.errorAt([]string{"name"}, fmt.Errorf("the name %q is already used by the case on line %d", c.Name, other.Line())), "in a table, use ${each.key} in the name")
			}
			names[c.Name] = c
			s.Cases = append(s.Cases, c)
		}
		if len(s.Cases) > MaxCases {
			return s.errorAt([]string{"cases"}, fmt.Errorf("the suite has more than %d cases", MaxCases))
		}
	}
	return nil
}

// rows returns the cases for the element i of the list of cases.
func (s *Suite) rows(i int, raw any, obj map[string]any) []*Case {
	one := &Case{suite: s, index: i, raw: obj, Name: fmt.Sprintf("case %d", i+1)}
	name, named := obj["name"].(string)
	if named && name != "" {
		one.Name = name
	}
	table, given := obj["each"]
	if !given {
		table, given = s.defaults["each"]
	}
	list, isList := table.([]any)
	_, hasName := obj["name"]
	switch {
	case obj == nil:
		one.err = one.errorAt(nil, fmt.Errorf("expected an object, got %s", manifest.DescribeValue(raw)))
	case !named && hasName:
		one.err = one.errorAt([]string{"name"}, hint.Wrap(fmt.Errorf("name: expected text, got %s", manifest.DescribeValue(obj["name"])), "put it in quotes"))
	case name == "":
		one.err = one.errorAt(nil, errors.New("the case has no name"))
		if near := hint.Nearest("name", slices.Sorted(maps.Keys(obj))); near != "" && !hasName {
			one.err = hint.Wrap(one.errorAt([]string{near}, errors.New("the case has no name")), fmt.Sprintf("write name, not %s", near))
		}
	case given && !isList:
		one.err = one.errorAt([]string{"each"}, fmt.Errorf("each: expected a list, got %s", manifest.DescribeValue(table)))
	case given && len(list) == 0:
		one.err = one.errorAt([]string{"each"}, errors.New("each: the table has no rows"))
	case given:
		return one.expand(list)
	}
	return []*Case{one}
}

func (c *Case) expand(table []any) []*Case {
	all := make([]*Case, len(table))
	for n, row := range table {
		one := *c
		one.row, one.hasRow = row, true
		if !hasVariable(c.Name) {
			one.Name = fmt.Sprintf("%s/%d", c.Name, n+1)
		} else if value, err := one.substitute(c.Name); err != nil {
			one.Name, one.err = fmt.Sprintf("%s/%d", c.Name, n+1), one.errorAt([]string{"name"}, fmt.Errorf("name: %w", err))
		} else {
			one.Name = text(value)
		}
		all[n] = &one
	}
	return all
}

// A Converted is a case that was converted from the format of another tool.
type Converted struct {
	Name string
	// Fields is the content of the case, as in the file of a suite. Its strings have no
	// variables.
	Fields map[string]any
	// Line returns the line in the file of the other tool for a field in Fields. The path has
	// keys, and indexes in the form "[0]".
	Line func(path []string) int
	// Warnings are about fields that have no effect, each a *manifest.Error.
	Warnings []error
	// Err joins the reasons why the case cannot be converted, each a *manifest.Error.
	Err error
}

// FromConverted returns a suite with the cases of a file of another tool. A name that several
// cases have gets a number.
func FromConverted(path string, cases []Converted) *Suite {
	s := &Suite{Document: manifest.Document{Path: path, Line: 1}, converted: true}
	s.lines = s.Document.Lines
	count := map[string]int{}
	for i, c := range cases {
		name := c.Name
		if count[name]++; count[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, count[name])
		}
		fields, _ := literal(c.Fields).(map[string]any)
		s.Cases = append(s.Cases, &Case{Name: name, suite: s, index: i, raw: fields, err: c.Err, origin: c.Line})
	}
	return s
}

// IsConverted reports whether the suite was converted from the format of another tool.
func (s *Suite) IsConverted() bool { return s.converted }

// File returns the content of a file with the cases of a converted suite. It returns the errors
// of all cases that could not be converted.
func (s *Suite) File() (map[string]any, error) {
	var errs []error
	cases := make([]any, len(s.Cases))
	for i, c := range s.Cases {
		errs = append(errs, c.err)
		fields := maps.Clone(c.raw)
		fields["name"] = c.Name
		cases[i] = fields
	}
	return map[string]any{"apiVersion": APIVersion, "kind": Kind, "cases": cases}, errors.Join(errs...)
}
