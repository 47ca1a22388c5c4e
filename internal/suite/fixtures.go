package suite

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/feature"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/check"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// fixtures collects the fixtures that no case of a run used. It is safe for concurrent use.
type fixtures struct {
	mu sync.Mutex
	// unused has the messages about fixtures that no case has used so far. A fixture that was used
	// has the message "". times counts the cases that did not use it.
	unused map[fixture]string
	times  map[fixture]int
}

// A fixture is a resource or a change of the input of a case. Cases inherit those of the defaults.
type fixture struct {
	suite     *Suite
	field, id string
	inherited bool
}

// add records whether a case used a fixture.
func (f *fixtures) add(one fixture, used bool, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before, known := f.unused[one]; used || known && before == "" {
		text = ""
	}
	f.unused[one] = text
	f.times[one]++
}

// warn warns of the fixtures that no case used. It leaves out those of the defaults of a suite
// unless all of its cases ran and did not use them.
func (f *fixtures) warn(to progress.Func) {
	texts := map[string]bool{}
	for one, text := range f.unused {
		if text != "" && !(one.inherited && f.times[one] < len(one.suite.Cases)) {
			texts[text] = true
		}
	}
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		to.Warn(text)
	}
}

// checkFixtures records which fixtures the case used.
func (a *attempt) checkFixtures(ctx context.Context, r session.Result) {
	if a.item.composition != nil || a.item.fuzz != nil || a.calls == nil || r.Result == nil || r.Composition.Composition == nil {
		return
	}
	a.checkExpect()
	for _, text := range r.Unused {
		a.fixture([]string{"observe", "fixtures"}, text, false, "fixture "+text+" was not used")
	}
	for field, sources := range map[string][]spec.Source{"required": a.form.Required, "extraResources": a.form.Extra} {
		if a.features.Off(feature.ExtraResources) {
			break // No function gets a resource that it requires.
		}
		a.eachFixture(ctx, field, sources, func(u *unstructured.Unstructured) (bool, string) {
			// The engine itself reads Secrets, and the composed resources of the composite resource.
			engines := u.GetKind() == "Secret" || u.GetAnnotations()[reconciler.AnnotationResourceName] != ""
			return engines || a.usage.required[check.Identity(u.Object)], "no function required it"
		})
	}
	secrets := map[string]bool{}
	for _, step := range r.Composition.Spec.Pipeline {
		for _, c := range step.Credentials {
			if c.SecretRef != nil {
				secrets[c.SecretRef.Namespace+"/"+c.SecretRef.Name] = true
			}
		}
	}
	a.eachFixture(ctx, "credentials", a.form.Credentials, func(u *unstructured.Unstructured) (bool, string) {
		return secrets[u.GetNamespace()+"/"+u.GetName()], "no step has credentials from it"
	})
	a.checkObserved(ctx)
}

// checkExpect warns of an expect without expectations.
func (a *attempt) checkExpect() {
	fields, err := a.item.Case.Fields()
	if expect, given := fields["expect"]; err == nil && given && isEmpty(expect) {
		at := manifest.Document{Path: a.item.Suite.Path, Line: a.item.Case.Position("expect")}
		a.sessions.config.Progress.Warn(at.Position() + ": expect is empty, so the case passes whatever the functions compose\nhint: write what is expected, as in resources: {NAME: {spec.region: eu}}, or leave expect out if the render need only succeed")
	}
}

// isEmpty reports whether expect has no field with a value. An empty list of the only resources
// is an expectation.
func isEmpty(expect any) bool {
	fields, isObject := expect.(map[string]any)
	for key, v := range fields {
		list, isList := v.([]any)
		obj, isMap := v.(map[string]any)
		if key == "only" || v != nil && !(isList && len(list) == 0) && !(isMap && len(obj) == 0) {
			return false
		}
	}
	return isObject || expect == nil
}

// checkObserved records which observed resources have the name of a desired one. Those of others
// are deleted, which a case can test, so they count as used unless a similar name is desired.
func (a *attempt) checkObserved(ctx context.Context) {
	desired := a.usage.desired
	a.eachFixture(ctx, "observed", a.form.Observed, func(u *unstructured.Unstructured) (bool, string) {
		name := u.GetAnnotations()[reconciler.AnnotationResourceName]
		near := hint.Nearest(name, slices.Sorted(maps.Keys(desired)))
		return desired[name] || near == "", fmt.Sprintf("no function desires a resource %q, did you mean %s?", name, near)
	})
}

// eachFixture records for each object in the sources of a field whether it was used.
func (a *attempt) eachFixture(ctx context.Context, field string, sources []spec.Source, used func(*unstructured.Unstructured) (bool, string)) {
	for i, s := range sources {
		docs, err := a.documents(ctx, []spec.Source{s}, field)
		if err != nil {
			continue // The render reports it.
		}
		for _, doc := range docs {
			obj, err := doc.Object()
			u := &unstructured.Unstructured{Object: obj}
			if err != nil || u.IsList() {
				continue // A dump of a cluster has many resources that no function needs.
			}
			ok, why := used(u)
			id := doc.Position()
			if s.Object == nil && filepath.Clean(a.path(s.File)) != filepath.Clean(doc.Path) {
				id = a.path(s.File) // All files of a directory are one fixture.
			}
			text := fmt.Sprintf("%s: %s: %s was not used: %s", id, field, composition.Describe(u), why)
			a.fixture([]string{field, fmt.Sprintf("[%d]", i)}, id, ok, text)
		}
	}
}

// fixture records whether the case used a fixture of a field.
func (a *attempt) fixture(path []string, id string, used bool, text string) {
	one := fixture{suite: a.item.Suite, field: strings.Join(path, "."), id: id, inherited: a.item.Case.Inherits(path[0])}
	a.fixtures.add(one, used, text)
}

// usage has the identities of the resources that functions required, and the names of the resources
// that they desired, in all passes of a case.
type usage struct {
	mu                sync.Mutex
	required, desired map[string]bool
}

// recording returns a Runner that records the usage of r.
func (u *usage) recording(r function.Runner) function.Runner {
	u.required, u.desired = map[string]bool{}, map[string]bool{}
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp, err := r.RunFunction(ctx, name, req)
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, all := range []map[string]*fnv1.Resources{req.GetRequiredResources(), req.GetExtraResources()} {
			for _, resources := range all {
				for _, r := range resources.GetItems() {
					u.required[check.Identity(r.GetResource().AsMap())] = true
				}
			}
		}
		for name := range rsp.GetDesired().GetResources() {
			u.desired[name] = true
		}
		return rsp, err
	})
}

// environmentKey is the key of the environment in the context, which functions of Crossplane read.
const environmentKey = "apiextensions.crossplane.io/environment"

// contextKeys warns of keys of the context that are similar to the one of the environment.
func (h *inputResolver) contextKeys() {
	for field, keys := range map[string][]string{
		"context": slices.Collect(maps.Keys(h.form.Context)), "contextFiles": slices.Collect(maps.Keys(h.form.ContextFile)),
	} {
		for _, key := range keys {
			if key != environmentKey && hint.EditDistance(key, environmentKey) <= 3 {
				at := manifest.Document{Path: h.item.Suite.Path, Line: h.item.Case.Position(field, key)}
				h.sessions.config.Progress.Warn(fmt.Sprintf("%s: %s: no function of Crossplane reads %q, did you mean %s?", at.Position(), field, key, environmentKey))
			}
		}
	}
}
