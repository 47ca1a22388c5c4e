package patchandtransform

import (
	"errors"
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
	kind     input.PatchType
	from     path
	combine  *combination
	to       path
	wildcard bool
	chain    transform.Chain
	merge    *merger
	required bool
}

// A combination makes one value of several. One without a format was not
// validated, and fails.
type combination struct {
	format    *input.CombineString
	variables []path
}

func compilePatch(p *input.Patch) patch {
	compiled := patch{
		kind:     p.TypeOrDefault(),
		to:       parse(p.To()),
		wildcard: !p.IsCombine() && strings.Contains(p.To(), "[*]"),
		chain:    transform.Compile(p.Transforms),
		required: p.Required(),
	}
	if p.Policy != nil {
		compiled.merge = mergerOf(p.Policy.ToFieldPath)
	}
	if !p.IsCombine() {
		if p.FromFieldPath != nil {
			compiled.from = parse(*p.FromFieldPath)
		}
		return compiled
	}
	compiled.combine = &combination{}
	if p.Combine != nil {
		compiled.combine.format = p.Combine.String
		for _, v := range p.Combine.Variables {
			compiled.combine.variables = append(compiled.combine.variables, parse(v.FromFieldPath))
		}
	}
	return compiled
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
	if p.combine == nil {
		if v, err = normal(v, b); err != nil {
			return fmt.Errorf("cannot marshal value to JSON: %w", err)
		}
	}
	if p.wildcard {
		return p.writeAll(to, v, b)
	}
	if err := p.write(p.to, to, v, b); err != nil {
		return fmt.Errorf("cannot patch to object: %w", err)
	}
	return nil
}

func (p *patch) read(from map[string]any, b *transform.Budget) (any, error) {
	if p.combine == nil {
		return p.from.get(from)
	}
	if p.combine.format == nil {
		return nil, errors.New("combine must be set")
	}
	args := make([]any, len(p.combine.variables))
	for i, variable := range p.combine.variables {
		v, err := variable.get(from)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return transform.Sprintf(b, p.combine.format.Format, args...)
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
	return nil
}
