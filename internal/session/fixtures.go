package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// The apiVersion and the kind of a document that contains fixtures. It has this format
// (testdata/fixtures.yaml is an example):
//
//	apiVersion: xfn.dev/v1alpha1
//	kind: ObserveFixtures
//	fixtures:
//	- match:                # composed resources, in one of two forms
//	    resource: bucket    # by the name in the pipeline
//	  ready: true           # sets the condition Ready to "True" or "False"
//	  status:               # is merged into status
//	    arn: arn:aws:s3:::bucket
//	- match:
//	    apiVersion: s3.aws.m.upbound.io/v1beta1
//	    kind: BucketPolicy
//	    name: policy        # optional
//	  from: 2               # applies after pass 2, so pass 3 observes it; default 1
//	  ready: false
//	  metadata:             # is merged into metadata; rendered values win
//	    annotations:
//	      crossplane.io/external-name: policy-1
//
// All fixtures of a resource apply, in order: objects are merged, and any other
// value of a later fixture replaces the earlier one.
const (
	FixturesAPIVersion = "xfn.dev/v1alpha1"
	FixturesKind       = "ObserveFixtures"
)

// A Fixture is a simulated change that a provider makes to composed resources.
type Fixture struct {
	// Match selects the composed resources.
	Match FixtureMatch `json:"match"`
	// From is the number of the pass after which the fixture applies, so that the
	// next pass observes it. Less than 1 means 1.
	From int `json:"from"`
	// Ready sets the status of the condition Ready. Nil leaves the condition unchanged.
	Ready *bool `json:"ready"`
	// Status is merged into the status of the resource, and Metadata into its metadata,
	// where rendered values take precedence. Values have the types of decoded JSON.
	Status   map[string]any `json:"status"`
	Metadata map[string]any `json:"metadata"`
	// Position is the position of the fixture as "path:line", or empty.
	Position string `json:"-"`
}

// A FixtureMatch selects composed resources by their name in the pipeline (Resource),
// or by APIVersion and Kind. In the second case, a Name that is not empty must
// equal metadata.name.
type FixtureMatch struct {
	Resource   string `json:"resource"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// String returns the position of the fixture and the resources that it matches,
// for messages.
func (f Fixture) String() string {
	what := fmt.Sprintf("resource %q", f.Match.Resource)
	if f.Match.Resource == "" {
		what = strings.TrimSpace(f.Match.APIVersion + " " + f.Match.Kind + " " + f.Match.Name)
	}
	if f.Position == "" {
		return what
	}
	return f.Position + ": " + what
}

func (m FixtureMatch) selects(u *unstructured.Unstructured, resource string) bool {
	if m.Resource != "" {
		return m.Resource == resource
	}
	return m.APIVersion == u.GetAPIVersion() && m.Kind == u.GetKind() && (m.Name == "" || m.Name == u.GetName())
}

func (f Fixture) apply(obj map[string]any) map[string]any {
	says := map[string]any{}
	if f.Metadata != nil {
		says["metadata"] = f.Metadata
	}
	if f.Status != nil {
		says["status"] = f.Status
	}
	obj = mergedObject(obj, says)
	if f.Ready == nil {
		return obj
	}
	status, conditions := fieldpath.Map(obj, "status"), fieldpath.List(obj, "status", "conditions")
	obj["status"] = mergedObject(status, map[string]any{"conditions": withReady(conditions, *f.Ready)})
	return obj
}

func withReady(conditions []any, ready bool) []any {
	c := reconciler.Condition{Type: reconciler.TypeReady, Status: "False", Reason: "Creating"}
	if ready {
		c.Status, c.Reason = "True", "Available"
	}
	value := reconciler.Conditions{c}.Value()
	for i, old := range conditions {
		if m, ok := old.(map[string]any); ok && m["type"] == reconciler.TypeReady {
			return slices.Concat(conditions[:i], value, conditions[i+1:])
		}
	}
	return slices.Concat(conditions, value)
}

// ParseFixtures parses documents of FixturesKind. It returns all errors joined, each a
// *manifest.Error. Unknown fields are errors.
func ParseFixtures(docs []manifest.Document) ([]Fixture, error) {
	var all []Fixture
	var errs []error
	for _, doc := range docs {
		fixtures, err := parseFixtures(doc)
		all = append(all, fixtures...)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return all, nil
}

func parseFixtures(doc manifest.Document) ([]Fixture, error) {
	value, duplicate, err := doc.StrictObject()
	if err := cmp.Or(duplicate, err); err != nil {
		return nil, err
	}
	p := fixtureParser{doc: doc, lines: doc.Lines()}
	var file struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Fixtures   []manifest.Value `json:"fixtures"`
	}
	p.decode("", value, &file)
	if len(p.errs) == 0 && (file.APIVersion != FixturesAPIVersion || file.Kind != FixturesKind) {
		p.fault("kind", "expected kind %s of %s, got %q of %q", FixturesKind, FixturesAPIVersion, file.Kind, file.APIVersion)
	}
	fixtures := make([]Fixture, len(file.Fixtures))
	for i, value := range file.Fixtures {
		fixtures[i] = p.fixture(fmt.Sprintf("fixtures[%d]", i), value.Any)
	}
	return fixtures, errors.Join(p.errs...)
}

type fixtureParser struct {
	doc   manifest.Document
	lines manifest.Lines
	errs  []error
}

func (p *fixtureParser) fault(field, format string, args ...any) {
	p.errs = append(p.errs, &manifest.Error{Path: p.doc.Path, Line: p.lines.Of(field), Err: fmt.Errorf(format, args...)})
}

func (p *fixtureParser) decode(at string, value, into any) {
	for _, f := range manifest.DecodeStrict(value, into) {
		if at != "" {
			f.Path = append([]string{at}, f.Path...)
		}
		p.fault(f.Field(), "%v", f)
	}
}

func (p *fixtureParser) fixture(at string, value any) Fixture {
	f := Fixture{From: 1, Position: fmt.Sprintf("%s:%d", p.doc.Path, p.lines.Of(at))}
	before := len(p.errs)
	p.decode(at, value, &f)
	if len(p.errs) > before {
		return f
	}
	byType := f.Match.APIVersion != "" && f.Match.Kind != ""
	other := f.Match.APIVersion != "" || f.Match.Kind != "" || f.Match.Name != ""
	if byName := f.Match.Resource != ""; byName && other || !byName && !byType {
		p.fault(at+".match", "%s.match: expected either a resource, or apiVersion and kind", at)
	}
	if f.From < 1 {
		p.fault(at+".from", "%s.from: expected 1 or more", at)
	}
	for _, texts := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(f.Metadata, texts); err != nil {
			path := at + ".metadata." + texts
			p.fault(path, "%s: expected an object of strings", path)
		}
	}
	if f.Ready == nil && f.Status == nil && f.Metadata == nil {
		p.fault(at, "%s: expected ready, status or metadata", at)
	}
	return f
}
