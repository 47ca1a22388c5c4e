package validate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A Status is the outcome of validating an object.
type Status string

// Valid and Invalid are the statuses of objects that were validated.
const (
	Valid   Status = "valid"
	Invalid Status = "invalid"
	// NoSchema is the status of an object whose kind has no valid definition.
	NoSchema Status = "no schema"
)

// A Result is the outcome of validating an object. A document that cannot be
// decoded to an object has a Result, too.
type Result struct {
	// Path and Line are the position of the object in a file. Line is 0 if it is unknown.
	Path string
	Line int
	// Name is the object's name or generateName. A rendered resource without both
	// is identified by its name in the Composition.
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	Status     Status
	// Partial is true if only metadata and the structure were validated: for kinds of
	// Kubernetes, neither required fields nor further rules of the API server.
	Partial bool
	Faults  []Fault
	// If the kind has no schema, Nearest is the most similar kind of the same group, or the most
	// similar apiVersion of the same kind, among the definitions and the kinds of Kubernetes. It
	// can be empty.
	Nearest string

	// definition is the definition of the object's kind if it is invalid, or nil. If broken is true,
	// the object was not validated.
	definition *definition
	broken     bool
	// ofXRD is true for the Result of an XRD, or of the CRD that is derived from it.
	ofXRD bool
}

// PartialNote returns a note about kinds whose Results have Partial set.
func PartialNote(kinds ...string) string {
	return fmt.Sprintf("only the structure of %s was checked, because for kinds of Kubernetes xfn knows neither required fields nor further rules of the API server", strings.Join(kinds, ", "))
}

// A FaultType is the kind of a Fault. The crossplane CLI has the same kinds.
type FaultType string

// These are the types of a value that its schema refuses, of a violated CEL rule, and of an unknown field.
const (
	Schema       FaultType = "schema"
	Rule         FaultType = "cel"
	UnknownField FaultType = "unknownField"
)

// A Fault is an error in an object.
type Fault struct {
	// Type is empty for a fault that a schema does not show.
	Type FaultType
	// Field is the path of the field, such as "spec.sizes[0].unit". It is empty for the
	// whole object. Line is the line of the field in the file, or 0 if it is unknown.
	Field string
	Line  int
	// Text is the API server's message, which includes the path of the field.
	Text string
	// Value is the value that the API server names as wrong, the name of an unknown field, or nil.
	Value any
	// Nearest is the known field whose name is most similar to the name of an unknown
	// field, or the allowed value that is most similar to an invalid value, or empty.
	Nearest string
	// Warning is true if the fault does not make the object invalid.
	Warning bool
	// ByMode is true for a warning that is an error in another mode of Options.Composition.
	ByMode bool

	misplaced bool // misplaced is schema.Fault.Misplaced.

	last    bool      // If last is true, the fault is sorted after all others.
	boolean hint.Hint // boolean is the result of manifest.Lines.Boolean.
}

// String returns Text on one line, with a suggestion if Nearest is set.
func (f Fault) String() string {
	text := strings.Join(strings.Fields(f.Text), " ")
	switch {
	case f.misplaced:
		return text + ", which is not a keyword of schemas: " + schema.MisplacedAdvice
	case f.Nearest != "":
	case schema.ForClaims(f.Field) && strings.HasPrefix(text, "unknown field "):
		text += ", which only claims have: remove it"
	case f.boolean != "":
		text += ", " + string(f.boolean)
	case f.Line > 0 && unquoted().MatchString(text):
		text += ", put the value in quotes"
	}
	return text + hint.DidYouMean(f.Nearest)
}

// unquoted matches messages about a boolean or number instead of a string: in files, YAML 1.1 reads
// words such as no, on and y as booleans.
var unquoted = proc.Regexp(`must be of type string: "(boolean|integer|number)"$|must be a string, not (a boolean|the number \S+|a number with a fraction)$|^metadata\.\w+: Invalid value: cannot be a (bool|int64|float64)$`)

// byLine orders faults by their lines in the file. Faults with last set come last.
func byLine(a, b Fault) int {
	switch {
	case a.last == b.last:
		return cmp.Compare(a.Line, b.Line)
	case a.last:
		return 1
	default:
		return -1
	}
}

// Counts contains the number of validated objects, in total and for each status. The fields before
// Partial are those of the crossplane CLI in JSON.
type Counts struct {
	Total    int `json:"total"`
	Valid    int `json:"valid"`
	Invalid  int `json:"invalid"`
	NoSchema int `json:"missingSchemas"`
	// Partial is the number of objects whose Result has Partial set.
	Partial int `json:"partial"`
}

// Add adds a result to the counts.
func (c *Counts) Add(r Result) {
	c.Total++
	if r.Partial {
		c.Partial++
	}
	switch r.Status {
	case Valid:
		c.Valid++
	case Invalid:
		c.Invalid++
	case NoSchema:
		c.NoSchema++
	}
}

// Refusals returns the reasons why an API server would refuse the object, each with its
// position. at is the position of an object that was not read from a file. An object without
// a valid definition has no refusals, but its invalid definition has a Result of its own.
func (r Result) Refusals(at string) []error {
	if r.Status != Invalid {
		return nil
	}
	var all []error
	for _, f := range r.Faults {
		if f.Warning {
			continue
		}
		where := at
		if r.Path != "" {
			where = manifest.Position(r.Path, f.Line)
		}
		all = append(all, fmt.Errorf("%s: an API server refuses this %s: %s", where, r.Kind, f))
	}
	return all
}

// Unreadable returns the result for a document that cannot be decoded to an object.
func Unreadable(doc manifest.Document, err error) Result {
	r := Result{Path: doc.Path, Line: doc.Line, Status: Invalid}
	text := err.Error()
	if at, ok := errors.AsType[*manifest.Error](err); ok {
		r.Path, r.Line, text = at.Path, at.Line, at.Err.Error()
	}
	if next := hint.Of(err); next != "" && errors.Is(err, fs.ErrNotExist) {
		text += ", " + string(next)
	}
	r.Faults = []Fault{{Line: r.Line, Text: text}}
	return r
}

// faults converts all, the faults of the object at a place, and adds line numbers.
func faults(at place, all []schema.Fault) []Fault {
	out := make([]Fault, len(all))
	for i, f := range all {
		out[i] = Fault{Type: typeOf(f), Field: f.Field, Line: at.line(f.Field), Text: f.String(), Value: f.Value, Nearest: f.Nearest, misplaced: f.Misplaced, last: f.Unchecked}
		if f.Unknown {
			out[i].Value = f.Field[strings.LastIndexByte(f.Field, '.')+1:]
		}
		out[i].boolean = at.boolean(out[i])
	}
	return out
}

func typeOf(f schema.Fault) FaultType {
	switch {
	case f.Unknown:
		return UnknownField
	case f.Rule:
		return Rule
	default:
		return Schema
	}
}
