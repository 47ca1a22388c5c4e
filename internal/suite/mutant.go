package suite

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// An Operator is the kind of mistake of a mutant of a Composition.
type Operator string

// The operators. docs/how-to/test.md describes them.
const (
	dropStep      Operator = "drop-step"
	dropResource  Operator = "drop-resource"
	dropPatch     Operator = "drop-patch"
	swapPaths     Operator = "swap-paths"
	changePolicy  Operator = "change-policy"
	changeMap     Operator = "change-map"
	changeMatch   Operator = "change-match"
	changeMath    Operator = "change-math"
	changeText    Operator = "change-text"
	dropTransform Operator = "drop-transform"
	changeBase    Operator = "change-base"
	dropCheck     Operator = "drop-check"
	changeCheck   Operator = "change-check"
	dropDetail    Operator = "drop-detail"
	negateBranch  Operator = "negate-branch"
	changeLiteral Operator = "change-literal"
)

// A Mutant is a copy of a Composition with one mistake.
type Mutant struct {
	// Field is the path of the changed field in the Composition. Line is its line in the file,
	// counted from 1.
	Line     int      `json:"line"`
	Field    string   `json:"field"`
	Operator Operator `json:"operator"`
	// Was and Is are the value of the field and the value in the mutant. Is is nil if the
	// mutant lacks the field.
	Was any `json:"was"`
	Is  any `json:"is,omitempty"`

	edits []mutantEdit
	root  map[string]any
}

// A mutantEdit sets the value at a path. It removes the value if it is nil.
type mutantEdit struct {
	path  fieldpath.Path
	value any
}

// Composition returns the mutant. It shares nothing with the Composition.
func (m Mutant) Composition() map[string]any {
	root := runtime.DeepCopyJSON(m.root)
	for _, e := range m.edits {
		e.apply(root)
	}
	return root
}

func (e mutantEdit) apply(root map[string]any) {
	if e.value != nil {
		_, _ = e.path.Set(root, e.value) // The path is one of the Composition.
		return
	}
	parent, last := e.path[:len(e.path)-1], e.path[len(e.path)-1]
	switch at := valueAt(root, parent).(type) {
	case map[string]any:
		delete(at, last.Key)
	case []any:
		mutantEdit{parent, slices.Delete(slices.Clone(at), last.Index, last.Index+1)}.apply(root)
	}
}

func valueAt(v any, path fieldpath.Path) any {
	value, _ := path.Get(v)
	return value
}

// Mutants returns all mutants of the Composition in a document, in the order of its fields.
func Mutants(doc manifest.Document) ([]Mutant, error) {
	root, err := doc.Object()
	if err != nil {
		return nil, err
	}
	s := &mutantMaker{root: root, lines: doc.Lines()}
	s.composition()
	slices.SortStableFunc(s.mutants, func(a, b Mutant) int { return a.Line - b.Line })
	return s.mutants, nil
}

type mutantMaker struct {
	root    map[string]any
	lines   manifest.Lines
	mutants []Mutant
}

func (s *mutantMaker) add(o Operator, path fieldpath.Path, is any, more ...mutantEdit) {
	field := fieldOf(path)
	s.mutants = append(s.mutants, Mutant{
		Operator: o, Field: field, Line: s.lines.Of(field), Was: valueAt(s.root, path), Is: is, root: s.root,
		edits: append([]mutantEdit{{path, is}}, more...),
	})
}

// drop adds a mutant for each element of a list, without this element.
func (s *mutantMaker) drop(o Operator, list fieldpath.Path) {
	for i := range s.list(list) {
		s.add(o, pathTo(list, i), nil)
	}
}

// change adds a mutant with another constant, unless the path has no constant.
func (s *mutantMaker) change(o Operator, path fieldpath.Path) {
	if is := otherValue(valueAt(s.root, path)); is != nil {
		s.add(o, path, is)
	}
}

// otherValue returns a constant of the type of v that differs from it, or nil.
func otherValue(v any) any {
	switch v := v.(type) {
	case string:
		return v + "-mutant"
	case bool:
		return !v
	case int64:
		return v + 1
	case float64:
		return v + 1
	}
	return nil
}

// pathTo returns a path with more keys and indexes. It does not share memory with path.
func pathTo(path fieldpath.Path, more ...any) fieldpath.Path {
	path = slices.Clone(path)
	for _, key := range more {
		if i, ok := key.(int); ok {
			path = append(path, fieldpath.Index(i))
		} else {
			path = append(path, fieldpath.Key(fmt.Sprint(key)))
		}
	}
	return path
}

// fieldOf returns the path as in texts. It quotes special keys.
func fieldOf(path fieldpath.Path) (field string) {
	for _, s := range path {
		if s.IsIndex {
			field += fmt.Sprintf("[%d]", s.Index)
		} else {
			field = fieldpath.Join(field, s.Key)
		}
	}
	return field
}
