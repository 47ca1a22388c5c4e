package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// A FindingKind is a kind of mistake in the resources that are composed for a generated composite
// resource.
type FindingKind string

// The kinds of findings.
const (
	// RenderFails means that a function fails, crashes, or does not return in time.
	RenderFails FindingKind = "render fails"
	// InvalidOutput means that a schema refuses a resource.
	InvalidOutput FindingKind = "invalid output"
	// NeverSettles means that each pass, which observes the output of the previous pass,
	// composes something else.
	NeverSettles FindingKind = "never settles"
	// OutputVaries means that two renders of one composite resource differ.
	OutputVaries FindingKind = "output varies"
	// NameCollides means that two resources of one composite resource, or of two that differ
	// only in their names, have the same kind and name.
	NameCollides FindingKind = "name collides"
)

// A Finding is a failure for a generated composite resource.
type Finding struct {
	Kind FindingKind `json:"kind"`
	// Case is the name of the case whose other inputs were used. Composition is the position
	// of the Composition, and Name its name.
	Case        string `json:"case"`
	Composition string `json:"composition"`
	Name        string `json:"-"`
	// Text is the failure for XR, the smallest composite resource that was found.
	Text string `json:"text"`
	// Input is the number of the first composite resource with this failure. Count is the
	// number of all.
	Input int            `json:"input"`
	Count int            `json:"count"`
	XR    map[string]any `json:"xr"`

	// key is equal for findings of one kind about one step or field, which are reported once.
	key       string
	item      Item
	unchecked []string
}

// FuzzOptions select generated composite resources.
type FuzzOptions struct {
	// XRD is the path of the file of the XRD.
	XRD string
	// Runs is the number of composite resources for each Composition and suite.
	Runs int
	Seed uint64
}

// Fuzzed is the outcome of Fuzz.
type Fuzzed struct {
	// Inputs is the number of composite resources that were rendered.
	Inputs   int        `json:"inputs"`
	Seed     uint64     `json:"seed"`
	Findings []*Finding `json:"failures"`
	// Unchecked are the kinds that have no schema, as apiVersion/Kind.
	Unchecked []string `json:"unchecked,omitempty"`
}

// Fuzz renders generated composite resources with each Composition for the XRD that a case in
// items tests. The first such case of a suite, without its expectations, has the other inputs.
// Fuzz shrinks each failure to a small composite resource. If ctx ends, it returns what it found.
func Fuzz(ctx context.Context, items []Item, o Options, f FuzzOptions) (out Fuzzed, err error) {
	o.Config.Cache, out.Seed, out.Findings = "", f.Seed, []*Finding{}
	r := newRunner(o.rendering())
	defer func() { err = errors.Join(err, r.sessions.close(context.WithoutCancel(ctx), err == nil)) }()
	docs, err := o.Config.Reader.All(ctx, f.XRD)
	if err != nil {
		return out, err
	}
	xrd, definition, err := onlyXRD(docs, f.XRD)
	if err != nil {
		return out, err
	}
	subjects, err := r.fuzzSubjects(ctx, items, xrd, definition, f)
	if err != nil {
		return out, err
	}
	for _, s := range subjects {
		if err := s.fuzz(ctx, f.Runs, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// onlyXRD returns the document and the object of the first XRD in docs.
func onlyXRD(docs []manifest.Document, path string) (doc manifest.Document, obj map[string]any, err error) {
	for _, doc := range docs {
		if obj, err := doc.Object(); err != nil || obj["kind"] == "CompositeResourceDefinition" {
			return doc, obj, err
		}
	}
	if len(docs) == 0 {
		return doc, nil, &manifest.Error{Path: path, Err: manifest.ErrEmpty}
	}
	if obj, err = docs[0].Object(); err == nil {
		_, err = schema.NewXRD(obj)
	}
	return doc, nil, fmt.Errorf("%s: %w", docs[0].PositionOf("kind"), err)
}

// checkServed returns an error if the XRD in doc does not serve apiVersion, the version of a
// Composition's composite resources.
func checkServed(doc manifest.Document, xrd map[string]any, apiVersion string) error {
	_, version, _ := strings.Cut(apiVersion, "/")
	for i, v := range fieldpath.List(xrd, "spec", "versions") {
		if fieldpath.At(v, "name") != version {
			continue
		}
		if fieldpath.At(v, "served") == true {
			return nil
		}
		err := doc.ErrorOf(fmt.Sprintf("spec.versions[%d].served", i), fmt.Errorf("version %s is not served: no composite resource can be of this version", version))
		return hint.Wrap(err, "set served: true, or use a Composition for a version that is served")
	}
	err := doc.ErrorOf("spec.versions", fmt.Errorf("the XRD has no version %s, which the Composition is for", version))
	return hint.Wrap(err, "add the version, or change spec.compositeTypeRef.apiVersion of the Composition")
}

// A fuzzSubject is a Composition, and the case that has the other inputs.
type fuzzSubject struct {
	*runner
	item      Item
	doc       manifest.Document // the Composition
	name      string
	generator *Generator
	validator *validate.Validator
	// alone is locked while functions are started again, and shared by renders.
	alone sync.RWMutex
}

// fuzzSubjects returns the Compositions for the XRD that the items test, each with the first item
// of a suite.
func (r *runner) fuzzSubjects(ctx context.Context, items []Item, xrd manifest.Document, definition map[string]any, f FuzzOptions) ([]*fuzzSubject, error) {
	group, kind := fieldpath.Text(definition, "spec", "group"), fieldpath.Text(definition, "spec", "names", "kind")
	var all []*fuzzSubject
	known := map[string]bool{}
	for _, item := range items {
		if item.Case == nil {
			return nil, item.Suite.Err
		}
		a, err := r.attempt(item)
		if err != nil {
			return nil, err
		}
		if a.form.Skip != "" || isSet(a.form.Operation) || a.form.Expect.Fatal != nil || a.form.Expect.Error != nil {
			continue
		}
		item.fuzz = &fuzzInput{xrd: definition, passes: defaultPasses}
		item.fuzz.apply(&a.form)
		s := &fuzzSubject{runner: r, item: item}
		if s.doc, err = a.composition(ctx); err != nil {
			return nil, err
		}
		obj, err := s.doc.Object()
		if err != nil {
			return nil, err
		}
		apiVersion := fieldpath.Text(obj, "spec", "compositeTypeRef", "apiVersion")
		key := item.Suite.Name + "\x00" + s.doc.Key()
		if !strings.HasPrefix(apiVersion, group+"/") || fieldpath.Text(obj, "spec", "compositeTypeRef", "kind") != kind || known[key] {
			continue
		}
		known[key] = true
		if err := checkServed(xrd, definition, apiVersion); err != nil {
			return nil, err
		}
		s.name = fieldpath.Text(obj, "metadata", "name")
		if s.generator, err = NewGenerator(ctx, xrd, apiVersion, f.Seed); err != nil {
			return nil, err
		}
		if s.validator, err = a.validator(ctx, a.form.Schemas); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, hint.Wrap(fmt.Errorf("no case tests a Composition for %s of group %s, which the XRD in %q defines", kind, group, f.XRD),
			"a case has the Composition, the functions and the other inputs of the renders")
	}
	return all, nil
}

// A fuzzInput replaces the composite resource and the XRD of a case, and removes its expectations.
type fuzzInput struct {
	xr, xrd map[string]any
	// passes is the minimum of observe.passes.
	passes int
}

func (f *fuzzInput) apply(form *spec.CaseSpec) {
	form.XR, form.XRD, form.Invalid, form.Expect = spec.XR{Object: f.xr}, spec.Source{Object: f.xrd}, false, spec.Expect{}
	form.Observe.Passes = max(form.Observe.Passes, f.passes)
}

func (s *fuzzSubject) fuzz(ctx context.Context, runs int, out *Fuzzed) error {
	byKey := map[string]*Finding{}
	return forEach(ctx, s.runner, make([]struct{}, runs), func(ctx context.Context, n int, _ struct{}) tried {
		xr, err := s.generator.XR(ctx, n)
		if err != nil {
			return tried{err: err}
		}
		t := s.try(ctx, xr)
		if t.finding != nil {
			t.finding.Input = n
		}
		return t
	}, func(t tried) error {
		if t.err != nil {
			return t.err
		}
		out.Inputs++
		for _, kind := range t.unchecked {
			if i, known := slices.BinarySearch(out.Unchecked, kind); !known {
				out.Unchecked = slices.Insert(out.Unchecked, i, kind)
			}
		}
		if t.finding == nil {
			return nil
		}
		if first := byKey[t.finding.key]; first != nil {
			first.Count++
			return nil
		}
		small := s.shrink(ctx, t)
		byKey[small.key] = small
		out.Findings = append(out.Findings, small)
		return nil
	})
}
