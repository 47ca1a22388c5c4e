package patchandtransform

import (
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform/input"
	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform/transform"
	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// A path is a field path, or why it is none, which shows when it is used.
type path struct {
	fieldpath.Path
	text string
	err  error
}

func parse(text string) path {
	p, err := fieldpath.Parse(text)
	return path{Path: p, text: text, err: err}
}

func (p path) get(from any) (any, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.Get(from)
}

// A patch is one that is ready to run.
type patch struct {
	kind input.PatchType
	from path
	// combine and variables make the value, for Combine types.
	combine   *input.Combine
	variables []path
	to        path
	wildcard  bool
	chain     transform.Chain
	merge     *merger
	mergeErr  error
	policy    input.FromPolicy
	// odd says what of it does what nobody expects, or is "".
	odd string
}

func compilePatch(p *input.Patch) patch {
	compiled := patch{
		kind:     p.TypeOrDefault(),
		to:       parse(p.To()),
		wildcard: !p.TypeOrDefault().IsCombine() && strings.Contains(p.To(), "[*]"),
		chain:    transform.Compile(p.Transforms),
		policy:   p.From(),
		odd:      oddity(p),
	}
	compiled.merge, compiled.mergeErr = mergerOf(p.Over())
	if !compiled.kind.IsCombine() {
		if p.FromFieldPath != nil {
			compiled.from = parse(*p.FromFieldPath)
		}
		return compiled
	}
	compiled.combine = p.Combine
	if p.Combine != nil {
		for _, v := range p.Combine.Variables {
			compiled.variables = append(compiled.variables, parse(v.FromFieldPath))
		}
	}
	return compiled
}

func oddity(p *input.Patch) string {
	for _, t := range p.Transforms {
		if s := t.String; s != nil && s.Type == input.JoinList && s.Join != nil && len(s.Join.Separator) > 1 {
			return fmt.Sprintf("Join cuts only one byte off the end, though its separator %q has more", s.Join.Separator)
		}
	}
	return ""
}

// apply moves a value. The error says fieldpath.IsNotFound if what there is to
// move, or to expand, is not there.
func (p *patch) apply(from map[string]any, to *object, b *transform.Budget) error {
	v, err := p.read(from, b)
	if err != nil {
		return err
	}
	if v, err = p.chain.Apply(v, b); err != nil {
		return err
	}
	if !p.kind.IsCombine() {
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

func (p *patch) read(from map[string]any, b *transform.Budget) (any, error) {
	if !p.kind.IsCombine() {
		return p.from.get(from)
	}
	if p.combine == nil {
		return nil, fmt.Errorf("combine must be set for patch type %s", p.kind)
	}
	args := make([]any, len(p.variables))
	for i, variable := range p.variables {
		v, err := variable.get(from)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	switch {
	case p.combine.Strategy != input.CombineByString:
		return nil, fmt.Errorf("combine strategy %s is not supported", p.combine.Strategy)
	case p.combine.String == nil:
		return nil, fmt.Errorf("given combine strategy %s requires configuration", p.combine.Strategy)
	}
	return transform.Sprintf(b, p.combine.String.Format, args...)
}

// write puts v to a path, by the patch's policy.
func (p *patch) write(at path, to *object, v any, b *transform.Budget) error {
	if at.err != nil {
		return at.err
	}
	if p.merge != nil {
		there, err := at.Get(to.fields)
		if err != nil && !fieldpath.IsNotFound(err) {
			return err
		}
		if v, err = p.merge.merge(there, v); err != nil {
			return err
		}
	}
	return to.set(at.Path, v, b)
}

func (p *patch) writeAll(to *object, v any, b *transform.Budget) error {
	if p.to.err != nil {
		return p.to.err
	}
	paths, err := p.to.Expand(to.fields)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("cannot expand ToFieldPath %s", p.to.text)
	}
	for _, concrete := range paths {
		// The real function writes the paths out and reads them again, which
		// not every key survives.
		if err := p.write(parse(concrete.String()), to, v, b); err != nil {
			return err
		}
	}
	return to.settle(b)
}
