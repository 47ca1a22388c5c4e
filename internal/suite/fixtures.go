package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// fixtures collects the fixtures that no case of a run used. It is safe for concurrent use.
type fixtures struct {
	mu sync.Mutex
	// checked has the names of the cases whose fixtures were checked.
	checked map[string]bool
	ran     map[string]bool
	used    map[fixture]bool
	unused  map[unused]bool
	// files has the metadata of the objects in files, by path.
	files proc.Memo[string, []*unstructured.Unstructured]
}

// A fixture is an object or a file of a case's input, or a change of observed resources.
type fixture struct{ field, id string }

// An unused is a warning about a fixture that a case did not use. suite is not nil if other cases
// of the suite can use it.
type unused struct {
	fixture
	suite *Suite
	text  string
}

// warn warns of the fixtures that no case used. It leaves out fixtures that may be used by a
// case whose fixtures were not checked.
func (f *fixtures) warn(to progress.Func) {
	texts := map[string]bool{}
	for one := range f.unused {
		done := f.checked
		if one.field == "absent" { // A case without output has no resource.
			done = f.ran
		}
		partly := one.suite != nil && slices.ContainsFunc(one.suite.Cases, func(c *spec.Case) bool {
			// A case without the field uses no fixture of it.
			if _, given := c.Raw(one.field); !given && one.field != "absent" {
				return false
			}
			return !done[Item{Suite: one.suite, Case: c}.Name()]
		})
		if !f.used[one.fixture] && !partly {
			texts[one.text] = true
		}
	}
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		to.Warn(text)
	}
}

func (a *attempt) checkFixtures(ctx context.Context, r session.Result) {
	if a.item.composition != nil || a.item.fuzz != nil || a.calls == nil || r.LastPass == nil || r.Composition.Composition == nil {
		return
	}
	a.checkExpect(r)
	a.fixtures.mu.Lock()
	a.fixtures.checked[a.item.Name()] = true
	a.fixtures.mu.Unlock()
	inFile := slices.ContainsFunc(a.form.Observe.Fixtures, func(s spec.Source) bool { return s.Object == nil })
	for _, text := range r.Used {
		a.fixture("observe", text, inFile, true, "")
	}
	for _, text := range r.Unused {
		a.fixture("observe", text, inFile, false, "fixture "+text+" was not used")
	}
	secrets := map[string]bool{}
	for _, step := range r.Composition.Spec.Pipeline {
		for _, c := range step.Credentials {
			if c.SecretRef != nil {
				secrets[c.SecretRef.Namespace+"/"+c.SecretRef.Name] = true
			}
		}
		if step.Requirements == nil {
			continue
		}
		for _, sel := range step.Requirements.RequiredResources {
			one := requirement{apiVersion: sel.APIVersion, kind: sel.Kind}
			if sel.Name != nil {
				one.name = *sel.Name
			}
			a.usage.required[one] = true
		}
	}
	for field, sources := range map[string][]spec.Source{"required": a.form.Required, "extraResources": a.form.Extra} {
		if a.features.Off(composition.FeatureExtraResources) {
			break // No function gets a resource that it requires.
		}
		a.eachFixture(ctx, field, sources, func(u *unstructured.Unstructured) (bool, string) {
			// The engine itself reads Secrets, and the composed resources of the composite resource.
			engines := u.GetKind() == "Secret" || reconciler.ResourceName(u.Object) != ""
			// A case can test that the labels of a requirement do not match an object.
			byLabels := requirement{u.GetAPIVersion(), u.GetKind(), ""}
			byName := requirement{u.GetAPIVersion(), u.GetKind(), u.GetName()}
			return engines || a.usage.required[byLabels] || a.usage.required[byName], "no function required it"
		})
	}
	a.eachFixture(ctx, "credentials", a.form.Credentials, func(u *unstructured.Unstructured) (bool, string) {
		return secrets[u.GetNamespace()+"/"+u.GetName()], "no step has credentials from it"
	})
	a.checkObserved(ctx)
	a.checkAbsent(r)
}

// checkObserved records which observed resources have the name of a desired resource. Observed
// resources with other names are deleted, which a case can test. So they count as used, unless a
// similar name is desired and not observed.
func (a *attempt) checkObserved(ctx context.Context) {
	missing := maps.Clone(a.usage.desired)
	for _, s := range a.form.Observed {
		for _, u := range a.objects(ctx, s) {
			delete(missing, reconciler.ResourceName(u.Object))
		}
	}
	names := slices.Sorted(maps.Keys(missing))
	a.eachFixture(ctx, "observed", a.form.Observed, func(u *unstructured.Unstructured) (bool, string) {
		name := reconciler.ResourceName(u.Object)
		if a.usage.desired[name] {
			return true, ""
		}
		near := hint.Misspelled(name, names)
		return near == "", fmt.Sprintf("no function desires a resource %q%s", name, hint.DidYouMean(near))
	})
}

// eachFixture records for each source of a field whether an object in it was used.
func (a *attempt) eachFixture(ctx context.Context, field string, sources []spec.Source, used func(*unstructured.Unstructured) (bool, string)) {
	for i, s := range sources {
		id, what := a.path(s.File), "the fixture"
		if s.Object != nil {
			id = a.position(field, fmt.Sprintf("[%d]", i))
		}
		objects := a.objects(ctx, s)
		ok, why := len(objects) == 0, ""
		for j := 0; j < len(objects) && !ok; j++ {
			ok, why = used(objects[j])
		}
		if len(objects) == 1 {
			what = composition.Describe(objects[0])
		}
		a.fixture(field, id, s.Object == nil, ok, fmt.Sprintf("%s: %s: %s was not used: %s", id, field, what, why))
	}
}

// fixture records whether the case used a fixture of a field. Other cases can use it if it is in a
// file or in the defaults.
func (a *attempt) fixture(field, id string, inFile, used bool, text string) {
	one, f := unused{fixture: fixture{field, id}, text: text}, a.fixtures
	if inFile || a.item.Case.Inherits(field) {
		one.suite = a.item.Suite
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if used {
		f.used[one.fixture] = true
	} else {
		f.unused[one] = true
	}
}

// objects returns the objects of a source. Objects of a file have only their metadata.
func (a *attempt) objects(ctx context.Context, s spec.Source) []*unstructured.Unstructured {
	if s.Object != nil {
		u := &unstructured.Unstructured{Object: s.Object}
		return slices.DeleteFunc([]*unstructured.Unstructured{u}, (*unstructured.Unstructured).IsList)
	}
	return a.fixtures.files.Get(a.path(s.File), func() []*unstructured.Unstructured {
		// The render reports an error.
		all, _ := session.Objects(ctx, a.options.Config.Reader, "fixtures", []string{a.path(s.File)})
		for _, u := range all {
			u.Object = map[string]any{"apiVersion": u.Object["apiVersion"], "kind": u.Object["kind"], "metadata": u.Object["metadata"]}
		}
		return all
	})
}

// usage has the requirements of functions, and the names of the resources that they desired, in all
// passes of a case.
type usage struct {
	mu       sync.Mutex
	required map[requirement]bool
	desired  map[string]bool
}

// A requirement is for the object called name or, if name is "", for all objects of a kind with
// some labels.
type requirement struct{ apiVersion, kind, name string }

// recording returns a Runner that records in u what the responses of r require and desire. It forgets
// what an earlier Runner recorded.
func (u *usage) recording(r function.Runner) function.Runner {
	u.required, u.desired = map[requirement]bool{}, map[string]bool{}
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp, err := r.RunFunction(ctx, name, req)
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, all := range []map[string]*fnv1.ResourceSelector{rsp.GetRequirements().GetResources(), reconciler.ExtraResources(rsp.GetRequirements())} {
			for _, s := range all {
				u.required[requirement{s.GetApiVersion(), s.GetKind(), s.GetMatchName()}] = true
			}
		}
		for name := range rsp.GetDesired().GetResources() {
			u.desired[name] = true
		}
		return rsp, err
	})
}

// covering returns a Runner that records the calls to r for the coverage, if it is collected.
func (a *attempt) covering(r function.Runner) function.Runner {
	if a.options.Coverage == nil {
		return r
	}
	return a.coverage.Wrap(r, func(step string) bool {
		_, mocked := a.form.Mocks[step]
		return mocked
	})
}

// cover adds the case to the coverage. A case whose render failed covers the parts that ran.
func (a *attempt) cover(ctx context.Context, r session.Result) {
	if a.options.Coverage == nil || r.Composition.Composition == nil {
		return
	}
	c := coverage.Case{Composition: r.Composition, Recorder: &a.coverage}
	// The render has already reported an XR or an XRD that cannot be decoded.
	c.XR, _ = r.Document.Object()
	if isSet(a.form.XRD) {
		if docs, err := a.documents(ctx, []spec.Source{a.form.XRD}, "xrd"); err == nil && len(docs) > 0 {
			c.XRD, _ = docs[0].Object()
		}
	}
	if r.LastPass != nil {
		c.Composed = reconciler.ComposedByName(r.Composed)
		c.Checked = a.checker.Checked(a.form, a.subject(r))
	}
	a.options.Coverage.Add(c)
}
