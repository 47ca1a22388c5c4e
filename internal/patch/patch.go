package patch

import (
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// Most is how many patches a Composition may have: with patch sets, a short one
// can stand for very many.
const Most = 100_000

// A Path is a field path, or why it is none, which shows when it is used.
type Path struct {
	// Text is what it was parsed from.
	Text string

	path fieldpath.Path
	err  error
}

// Parse returns the Path of a text, which need not be one.
func Parse(text string) Path {
	p, err := fieldpath.Parse(text)
	return Path{Text: text, path: p, err: err}
}

// Get returns the value at the path. If there is none, the error says
// fieldpath.IsNotFound.
func (p Path) Get(from any) (any, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.path.Get(from)
}

// A Patch is one that is ready to run.
type Patch struct {
	Type   spec.PatchType
	Policy spec.FromPolicy
	// Odd says what of it does what nobody expects, or is "".
	Odd string

	from Path
	// combine and variables make the value, for Combine types.
	combine   *spec.Combine
	variables []Path
	to        Path
	wildcard  bool
	chain     TransformChain
	merge     *merger
	mergeErr  error
}

// Compile prepares a patch, which need not be valid: what is wrong with it is
// said when it runs.
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
		if p.FromFieldPath != nil {
			compiled.from = Parse(*p.FromFieldPath)
		}
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

func oddity(p *spec.Patch) string {
	for _, t := range p.Transforms {
		if s := t.String; s != nil && s.Type == spec.JoinList && s.Join != nil && len(s.Join.Separator) > 1 {
			return fmt.Sprintf("Join cuts only one byte off the end, though its separator %q has more", s.Join.Separator)
		}
	}
	return ""
}

// Apply moves a value. Which of its types the patch has makes no difference, but
// for those that combine, and the policy makes none: the error says
// fieldpath.IsNotFound if what there is to move, or to expand, is not there. An
// object without a kind cannot be written to.
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

// write puts v to a path, by the patch's policy.
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
		return fmt.Errorf("cannot expand ToFieldPath %s", p.to.Text)
	}
	for _, concrete := range paths {
		// The real function writes the paths out and reads them again, which
		// not every key survives.
		if err := p.write(Parse(concrete.String()), to, v, b); err != nil {
			return err
		}
	}
	return to.settle(b)
}
