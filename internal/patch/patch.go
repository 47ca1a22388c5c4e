package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// Most limits the number of patches in a Composition, including the patches of patch sets.
const Most = 100_000

// A Path is a field path, or the error of parsing it. The error is returned
// when the path is used.
type Path struct {
	// Text is the field path as it was written.
	Text string

	path fieldpath.Path
	err  error
}

// Parse returns the Path for a text. If the text is invalid, uses of the Path
// return the error.
func Parse(text string) Path {
	p, err := fieldpath.Parse(text)
	return Path{Text: text, path: p, err: err}
}

// ParseOptional is like Parse, but returns the zero Path for nil.
func ParseOptional(text *string) Path {
	if text == nil {
		return Path{}
	}
	return Parse(*text)
}

// Get returns the value at the path in from, or the error of parsing the path
// or of fieldpath.Path.Get.
func (p Path) Get(from any) (any, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.path.Get(from)
}

// A Patch is a compiled patch.
type Patch struct {
	Type   spec.PatchType
	Policy spec.FromPolicy
	// Odd describes an unexpected effect of the patch, for a warning. It is "" if
	// there is none.
	Odd string

	from Path
	// combine and variables are set only for patch types that combine values (IsCombine).
	combine   *spec.Combine
	variables []Path
	to        Path
	wildcard  bool
	chain     TransformChain
	merge     *merger
	mergeErr  error
}

// Compile compiles a patch. If the patch is invalid, Patch.Apply returns the error.
func Compile(p *spec.Patch) Patch {
	compiled := Patch{
		Type:     p.TypeOrDefault(),
		Policy:   p.From(),
		Odd:      oddity(p),
		to:       Parse(p.To()),
		wildcard: !p.TypeOrDefault().IsCombine() && strings.Contains(p.To(), "[*]"),
		chain:    CompileTransforms(p.Transforms),
	}
	compiled.merge, compiled.mergeErr = mergerOf(p.Over())
	if !compiled.Type.IsCombine() {
		compiled.from = ParseOptional(p.FromFieldPath)
		return compiled
	}
	compiled.combine = p.Combine
	if p.Combine != nil {
		for _, v := range p.Combine.Variables {
			compiled.variables = append(compiled.variables, Parse(v.FromFieldPath))
		}
	}
	return compiled
}

// Writes reports whether the patch writes the field at a path of a composed resource.
func (p *Patch) Writes(path string) bool {
	switch p.Type {
	case spec.FromCompositeFieldPath, spec.CombineFromComposite, spec.FromEnvironmentFieldPath, spec.CombineFromEnvironment:
		return p.to.Text == path
	}
	return false
}

func oddity(p *spec.Patch) string {
	for _, t := range p.Transforms {
		if s := t.String; s != nil && s.Type == spec.JoinList && s.Join != nil && len(s.Join.Separator) > 1 {
			return fmt.Sprintf("the transform Join removes only one byte from the end, although its separator %q is longer", s.Join.Separator)
		}
	}
	return ""
}

// Apply reads a value in from, transforms it, and writes it to the object to,
// which must have a kind. It ignores p.Policy: if the value does not exist,
// Apply returns an error for which fieldpath.IsNotFound is true.
func (p *Patch) Apply(from map[string]any, to *Object, b *Budget) error {
	v, err := p.read(from, b)
	if err != nil {
		return err
	}
	if v, err = p.chain.Apply(v, b); err != nil {
		return err
	}
	if !p.Type.IsCombine() {
		if v, err = normal(v, b); err != nil {
			return fmt.Errorf("cannot marshal value to JSON: %w", err)
		}
	}
	if p.mergeErr != nil {
		return p.mergeErr
	}
	if p.wildcard {
		return p.writeAll(to, v, b)
	}
	if err := p.write(p.to, to, v, b); err != nil {
		return fmt.Errorf("cannot patch to object: %w", err)
	}
	if err := to.settle(b); err != nil {
		return fmt.Errorf("cannot patch to object: %w", err)
	}
	return nil
}

func (p *Patch) read(from map[string]any, b *Budget) (any, error) {
	if !p.Type.IsCombine() {
		return p.from.Get(from)
	}
	if p.combine == nil {
		return nil, fmt.Errorf("combine must be set for patch type %s", p.Type)
	}
	args := make([]any, len(p.variables))
	for i, variable := range p.variables {
		v, err := variable.Get(from)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	switch {
	case p.combine.Strategy != spec.CombineByString:
		return nil, fmt.Errorf("combine strategy %s is not supported", p.combine.Strategy)
	case p.combine.String == nil:
		return nil, fmt.Errorf("given combine strategy %s requires configuration", p.combine.Strategy)
	}
	return Sprintf(b, p.combine.String.Format, args...)
}

// write writes v to the path at. If the patch has a merge policy, write merges
// v with the existing value.
func (p *Patch) write(at Path, to *Object, v any, b *Budget) error {
	if at.err != nil {
		return at.err
	}
	if p.merge != nil {
		there, err := at.Get(to.Fields)
		if err != nil && !fieldpath.IsNotFound(err) {
			return err
		}
		if v, err = p.merge.merge(there, v); err != nil {
			return err
		}
	}
	return to.set(at.path, v, b)
}

func (p *Patch) writeAll(to *Object, v any, b *Budget) error {
	if p.to.err != nil {
		return p.to.err
	}
	paths, err := p.to.path.Expand(to.Fields)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return errors.New(noneToExpand + p.to.Text)
	}
	for _, concrete := range paths {
		// function-patch-and-transform formats the expanded paths and parses them again.
		if err := p.write(Parse(concrete.String()), to, v, b); err != nil {
			return err
		}
	}
	return to.settle(b)
}

// Source returns the fields of an object that p reads, for Apply. The whole object may need
// much more memory.
func (p *Patch) Source(object *structpb.Struct) map[string]any {
	source := map[string]any{}
	for _, path := range append(slices.Clip(p.variables), p.from) {
		addField(source, object, path.path)
	}
	return source
}

// addField adds the field at a path in from to the object to. If the path names an element of a
// list, or a field of a scalar, addField adds the list or the scalar.
func addField(to map[string]any, from *structpb.Struct, path fieldpath.Path) {
	for i, segment := range path {
		v, ok := from.GetFields()[segment.Key]
		if segment.IsIndex || !ok {
			return
		}
		inner := v.GetStructValue()
		if inner == nil || i == len(path)-1 {
			to[segment.Key] = v.AsInterface()
			return
		}
		next, ok := to[segment.Key].(map[string]any)
		if !ok {
			next = map[string]any{}
			to[segment.Key] = next
		}
		to, from = next, inner
	}
}
