package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/render"
)

// tried has the findings of the renders of a composite resource.
type tried struct {
	xr        map[string]any
	finding   *Finding
	unchecked []string
	// err is set if there is no valid composite resource.
	err error
}

// shrink returns the same finding for a smaller composite resource.
func (s *fuzzSubject) shrink(ctx context.Context, t tried) *Finding {
	best := t.finding
	s.generator.Shrink(ctx, t.xr, func(xr map[string]any) bool {
		f := s.try(ctx, xr).finding
		if f == nil || f.key != best.key || ctx.Err() != nil {
			return false
		}
		f.Input, best = best.Input, f
		return true
	})
	return best
}

// try renders a composite resource several times, and returns the first failure.
func (s *fuzzSubject) try(ctx context.Context, xr map[string]any) tried {
	t := tried{xr: xr}
	found := func(kind FindingKind, key, text string) tried {
		t.finding = &Finding{
			Kind: kind, Case: s.item.Name(), Composition: s.doc.Position(), Name: s.name, Count: 1, XR: xr, Text: text,
			key: string(kind) + "\x00" + key, item: s.item, unchecked: t.unchecked,
		}
		return t
	}
	first := s.render(ctx, xr)
	if first.Status == Failed {
		text := first.Failures[0].Text
		key := values().ReplaceAllString(text, "")
		if fatal := (*render.FatalError)(nil); errors.As(first.Err(), &fatal) {
			key = fatal.Step
		}
		return found(RenderFails, key, text)
	}
	result := first.result
	if diffs := report.Compare(documents(result), documents(s.render(ctx, xr).result)); len(diffs) > 0 {
		// A resource says more than the reference to it in the composite resource.
		d := diffs[max(slices.IndexFunc(diffs, func(d report.DocDiff) bool { return d.Resource != "" }), 0)]
		text := fmt.Sprintf("two renders differ in %s %s", d.Kind, d.Name)
		if len(d.Changes) > 0 {
			text += ", field " + d.Changes[0].Path
		}
		return found(OutputVaries, "", text)
	}
	if !result.Settled {
		changing := strings.Join(result.Changing, ", ")
		return found(NeverSettles, "", fmt.Sprintf("the output still changes in pass %d: %s", result.Passes, changing))
	}
	key, text, unchecked := s.refused(ctx, result)
	if t.unchecked = unchecked; text != "" {
		return found(InvalidOutput, key, text)
	}
	if name := collision(result.Composed, nil); name != "" {
		return found(NameCollides, "", "two composed resources are "+name)
	}
	// A failure for the other name is not a failure for this input.
	if other := s.render(ctx, renamed(xr)); other.Status != Failed {
		if name := collision(result.Composed, other.result.Composed); name != "" {
			return found(NameCollides, "", fmt.Sprintf("%s is also composed if the composite resource is called %s", name, nameOf(renamed(xr))))
		}
	}
	return t
}

// values matches the parts of an error that differ between inputs.
var values = proc.Regexp(`"[^"]*"|[0-9]+`)

// render renders a composite resource. If a function has ended, another input that is rendered at
// the same time may be the reason: render starts the functions again, and tries xr alone.
func (s *fuzzSubject) render(ctx context.Context, xr map[string]any) Outcome {
	item, of := s.item, *s.item.fuzz
	of.xr, item.fuzz = xr, &of
	s.alone.RLock()
	out := s.run(ctx, item)
	s.alone.RUnlock()
	if !errors.Is(out.Err(), runtimes.ErrEnded) {
		return out
	}
	s.alone.Lock()
	defer s.alone.Unlock()
	// Functions that have ended need not stop without an error.
	_ = s.sessions.stop(ctx)
	if out = s.run(ctx, item); errors.Is(out.Err(), runtimes.ErrEnded) {
		_ = s.sessions.stop(ctx)
	}
	return out
}

// refused returns the first error in the output by its schema, and the kinds without a schema. A
// key has the kind and the field of the error.
func (s *fuzzSubject) refused(ctx context.Context, r session.Result) (key, text string, unchecked []string) {
	xr := r.Full
	if xr == nil {
		xr = r.XR
	}
	results := append(s.validator.Objects(ctx, xr), s.validator.ComposedBy(xr).Objects(ctx, r.Composed...)...)
	for _, one := range results {
		what := one.Kind + " of " + one.APIVersion
		if one.Status == validate.NoSchema && one.Path == "" {
			unchecked = append(unchecked, one.APIVersion+"/"+one.Kind)
			continue
		}
		for _, f := range one.Faults {
			if !f.Warning && text == "" {
				key, text = what+values().ReplaceAllString(f.Field, ""), what+": "+f.String()
			}
		}
	}
	return key, text, unchecked
}

// collision returns a name that two resources of a have or, if b is not nil, that a resource
// of a and a resource of b have. Resources whose names the API server generates do not
// collide.
func collision(a, b []map[string]any) string {
	known := map[string]bool{}
	for i, obj := range append(a[:len(a):len(a)], b...) {
		u := unstructured.Unstructured{Object: obj}
		if u.GetName() == "" {
			continue
		}
		id := u.GetKind() + " " + u.GetName() + " of " + u.GetAPIVersion()
		if u.GetNamespace() != "" {
			id += " in namespace " + u.GetNamespace()
		}
		if known[id] && (b == nil || i >= len(a)) {
			return id
		}
		known[id] = known[id] || b == nil || i < len(a)
	}
	return ""
}

// renamed returns xr with another name of the same length.
func renamed(xr map[string]any) map[string]any {
	name := nameOf(xr)
	last := "a"
	if strings.HasSuffix(name, last) {
		last = "b"
	}
	other := maps.Clone(xr)
	metadata := maps.Clone(fieldpath.Map(xr, "metadata"))
	metadata["name"], other["metadata"] = name[:len(name)-1]+last, metadata
	return other
}

func nameOf(obj map[string]any) string { return (&unstructured.Unstructured{Object: obj}).GetName() }
