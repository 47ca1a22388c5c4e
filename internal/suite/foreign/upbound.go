package foreign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// The kinds of tests of Upbound's CLI.
const (
	compositionTest = "CompositionTest"
	operationTest   = "OperationTest"
	e2eTest         = "E2ETest"

	upboundGroup   = "meta.dev.upbound.io"
	defaultTimeout = 30
)

// Kinds are the kinds of tests that Tests converts.
func Kinds() []string { return []string{compositionTest, operationTest, e2eTest} }

// Is reports whether an object is a test that Tests converts, of any version of its format, or has
// such tests in items, as the output of programs.
func Is(obj map[string]any) bool { return isTest(obj) || slices.ContainsFunc(itemsOf(obj), isTest) }

// itemsOf returns the items of an object without a kind.
func itemsOf(obj map[string]any) []any {
	if obj["kind"] != nil {
		return nil
	}
	return fieldpath.List(obj, "items")
}

func isTest(v any) bool {
	u := unstructured.Unstructured{Object: fieldpath.Map(v)}
	switch u.GetKind() {
	case compositionTest, operationTest, e2eTest:
		return u.GroupVersionKind().Group == upboundGroup
	}
	return false
}

type testDocument struct {
	APIVersion string         `json:"apiVersion" enum:"meta.dev.upbound.io/v1alpha1"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       map[string]any `json:"spec" required:""`
}

type compositionSpec struct {
	Timeout         *int             `json:"timeoutSeconds"`
	CompositionPath string           `json:"compositionPath"`
	Composition     map[string]any   `json:"composition"`
	XRPath          string           `json:"xrPath"`
	XR              map[string]any   `json:"xr"`
	XRDPath         string           `json:"xrdPath"`
	XRD             map[string]any   `json:"xrd"`
	Observed        []map[string]any `json:"observedResources"`
	Extra           []map[string]any `json:"extraResources"`
	Context         map[string]any   `json:"context"`
	Credentials     string           `json:"functionCredentialsPath"`
	// Validate is not used: the CLI does not read it.
	Validate bool             `json:"validate"`
	Asserts  []map[string]any `json:"assertResources"`
}

type operationSpec struct {
	Timeout       *int             `json:"timeoutSeconds"`
	OperationPath string           `json:"operationPath"`
	Operation     map[string]any   `json:"operation"`
	RequiredPath  string           `json:"requiredResourcesPath"`
	Required      []map[string]any `json:"requiredResources"`
	WatchedPath   string           `json:"watchedResourcePath"`
	Watched       map[string]any   `json:"watchedResource"`
	Context       map[string]any   `json:"context"`
	Credentials   string           `json:"functionCredentialsPath"`
	Asserts       []map[string]any `json:"assertResources"`
}

// Tests converts a document for which Is is true. Other objects in its items are left out.
func Tests(ctx context.Context, r manifest.Reader, doc manifest.Document) (all []spec.Converted) {
	b := newBuilder(ctx, r, doc)
	obj, duplicate, err := doc.StrictObject()
	if err := cmp.Or(err, duplicate); err != nil {
		b.errs = append(b.errs, err)
		return []spec.Converted{b.converted(doc.Position(), "")}
	}
	if isTest(obj) {
		return []spec.Converted{b.test(obj)}
	}
	for i, item := range itemsOf(obj) {
		if isTest(item) {
			b := newBuilder(ctx, r, doc)
			b.base = fmt.Sprintf("items[%d].", i)
			all = append(all, b.test(fieldpath.Map(item)))
		}
	}
	return all
}

func (b *builder) test(obj map[string]any) spec.Converted {
	var d testDocument
	b.decode(obj, &d, "", b.unknown)
	name := (&unstructured.Unstructured{Object: obj}).GetName()
	if name == "" {
		b.fail("metadata.name", errors.New("the test has no name"))
		name = b.doc.Position()
	}
	switch d.Kind {
	case compositionTest:
		b.compositionTest(d.Spec)
	case operationTest:
		b.operationTest(d.Spec)
	default:
		b.set("an E2ETest needs a cluster", "kind", "skip")
	}
	return b.converted(name, "")
}

func (b *builder) unknown(field string, f manifest.DecodeFault) { b.fail(field, errors.New(f.Text)) }

func (b *builder) compositionTest(fields map[string]any) {
	var s compositionSpec
	b.decode(fields, &s, "spec", b.unknown)
	if s.Composition == nil && s.CompositionPath == "" {
		b.fail("spec", errors.New("expected composition or compositionPath"))
	}
	if s.Composition != nil {
		s.CompositionPath = "" // The CLI prefers the object.
	}
	b.source("composition", s.CompositionPath, s.Composition, "composition", false)
	b.source("xr", s.XRPath, s.XR, "xr", true)
	if b.source("xrd", s.XRDPath, s.XRD, "xrd", false); b.fields["xrd"] != nil {
		b.set(true, "spec", "allowInvalid") // The CLI only applies defaults.
	}
	if s.Validate {
		b.warn("spec.validate", "the field has no effect, as in the CLI: use expect.valid of a suite to validate resources")
	}
	b.observed(s)
	if s.Extra != nil {
		b.set(list(s.Extra), "spec.extraResources", "required")
	}
	b.common(s.Timeout, s.Context, s.Credentials, s.Asserts)
}

// source sets a field of the case to a file of the project or to an object.
func (b *builder) source(field, file string, object map[string]any, to string, required bool) {
	switch {
	case required && (file == "") == (object == nil):
		b.fail("spec", fmt.Errorf("expected either %s or %[1]sPath", field))
	case file != "" && object != nil:
		b.fail("spec."+field+"Path", fmt.Errorf("%s and %[1]sPath cannot both be set", field))
	case object != nil:
		b.set(object, "spec."+field, to)
	case file != "":
		b.set(b.fromRoot(file), "spec."+field+"Path", to)
	}
}

// observed sets the observed resources. Like the CLI, it leaves out resources without
// the annotation of their name in the pipeline, and resources that are not in the
// namespace of a namespaced composite resource.
func (b *builder) observed(s compositionSpec) {
	if s.Observed == nil {
		return
	}
	xr := s.XR
	if xr == nil && s.XRPath != "" {
		var err error
		if xr, err = b.first(b.fromRoot(s.XRPath)); err != nil {
			b.fail("spec.xrPath", err)
			return
		}
	}
	namespace := (&unstructured.Unstructured{Object: xr}).GetNamespace()
	kept := []any{}
	for i, obj := range s.Observed {
		at := fmt.Sprintf("spec.observedResources[%d]", i)
		if reconciler.ResourceName(obj) == "" {
			b.warn(at, "the resource is not observed, because it has no annotation "+reconciler.AnnotationResourceName)
			continue
		}
		if namespace != "" && (&unstructured.Unstructured{Object: obj}).GetNamespace() != namespace {
			b.warn(at, fmt.Sprintf("the resource is not observed, because it is not in the namespace %q of the composite resource", namespace))
			continue
		}
		b.origins[fmt.Sprintf("observed[%d]", len(kept))] = at
		kept = append(kept, obj)
	}
	b.set(kept, "spec.observedResources", "observed")
}

func (b *builder) operationTest(fields map[string]any) {
	var s operationSpec
	b.decode(fields, &s, "spec", b.unknown)
	b.source("operation", s.OperationPath, s.Operation, "operation", true)
	b.source("watchedResource", s.WatchedPath, s.Watched, "watched", false)
	switch {
	case s.Required != nil && s.RequiredPath != "":
		b.fail("spec.requiredResourcesPath", errors.New("requiredResources and requiredResourcesPath cannot both be set"))
	case s.Required != nil:
		b.set(list(s.Required), "spec.requiredResources", "required")
	case s.RequiredPath != "":
		b.set(b.fromRoot(s.RequiredPath), "spec.requiredResourcesPath", "required")
	}
	b.common(s.Timeout, s.Context, s.Credentials, s.Asserts)
}

// common sets the fields that CompositionTest and OperationTest share.
func (b *builder) common(timeout *int, values map[string]any, credentials string, expected []map[string]any) {
	seconds := defaultTimeout
	if timeout != nil {
		seconds = *timeout
	}
	if seconds < 1 {
		b.fail("spec.timeoutSeconds", fmt.Errorf("expected at least 1, got %d", seconds))
	}
	b.set(fmt.Sprintf("%ds", seconds), "spec.timeoutSeconds", "timeout")
	if values != nil {
		b.set(values, "spec.context", "context")
	}
	if credentials != "" {
		b.set(b.fromRoot(credentials), "spec.functionCredentialsPath", "credentials")
	}
	const asserts = "spec.assertResources"
	objects := make([]any, len(expected))
	for i, obj := range expected {
		objects[i] = withoutEmptyUIDs(b.plain(obj, fmt.Sprintf("%s[%d]", asserts, i)))
	}
	if len(objects) == 0 {
		b.set(map[string]any{}, asserts, "expect")
		return
	}
	b.set(objects, asserts, "expect", "objects")
}

// withoutEmptyUIDs removes empty UIDs of owners from the assertion obj, and returns it. The CLI renders a
// composite resource without a UID, so tests that are copies of its output have them. In Crossplane, each
// composite resource has a UID.
func withoutEmptyUIDs(obj any) any {
	object, _ := obj.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	owners, _ := metadata["ownerReferences"].([]any)
	for _, owner := range owners {
		if o, ok := owner.(map[string]any); ok && o["uid"] == "" {
			delete(o, "uid")
		}
	}
	return obj
}

// expression matches keys of an assertion tree that are not names of fields: in parentheses,
// with the prefix ~ of a loop, or with the suffix of a binding. escaped matches names between
// backslashes.
var (
	expression = proc.Regexp(`^(~\w*\.|\(.*\)$)|->\w+$`)
	escaped    = proc.Regexp(`^\\(.+)\\$`)
)

// plain returns an assertion without the escapes of assertion trees. Expressions, which are
// evaluated, are errors.
func (b *builder) plain(v any, at string) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "(") && strings.HasSuffix(v, ")") && len(v) > 1 {
			b.refuseExpression(at, v)
		}
		return unescaped(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = b.plain(e, fmt.Sprintf("%s[%d]", at, i))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range manifest.Keys(v) {
			if expression().MatchString(key) {
				b.refuseExpression(at, key)
			}
			out[unescaped(key)] = b.plain(v[key], at+"."+key)
		}
		return out
	}
	return v
}

func (b *builder) refuseExpression(at, text string) {
	b.fail(at, hint.Wrap(fmt.Errorf("the expression %q is not supported", text), "write the expected value; or a suite of kind "+spec.Kind+" with expect.cel"))
}

func unescaped(text string) string {
	if m := escaped().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

func list[V any](values []V) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
