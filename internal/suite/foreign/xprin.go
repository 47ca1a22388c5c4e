package foreign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// IsXprin reports whether a file name belongs to a suite of xprin.
func IsXprin(file string) bool {
	name := filepath.Base(file)
	return name == "xprin.yaml" || strings.HasSuffix(name, "_xprin.yaml")
}

type xprinFile struct {
	Common map[string]any `json:"common"`
	Tests  []any          `json:"tests"`
}

// xprinTest is a test of xprin, or its common part. Fields for which parts are merged are maps.
type xprinTest struct {
	Name       string         `json:"name"`
	ID         string         `json:"id"`
	Inputs     map[string]any `json:"inputs"`
	Patches    map[string]any `json:"patches"`
	Hooks      map[string]any `json:"hooks"`
	Assertions map[string]any `json:"assertions"`
}

type xprinInputs struct {
	XR            string            `json:"xr"`
	Claim         string            `json:"claim"`
	Composition   string            `json:"composition"`
	Functions     string            `json:"functions"`
	CRDs          []string          `json:"crds"`
	ContextFiles  map[string]string `json:"context-files"`
	ContextValues map[string]any    `json:"context-values"`
	Observed      string            `json:"observed-resources"`
	Extra         string            `json:"extra-resources"`
	Credentials   string            `json:"function-credentials"`
}

type xprinPatches struct {
	XRD             string `json:"xrd"`
	Secret          bool   `json:"connection-secret"`
	SecretName      string `json:"connection-secret-name"`
	SecretNamespace string `json:"connection-secret-namespace"`
}

// An xprin converts a suite of xprin. In warnings are the fields that xprin ignores.
type xprin struct {
	*builder
	common map[string]any
	ids    map[string]bool
}

// Xprin converts a suite of xprin. warnings are about fields that neither xprin nor xfn knows.
// An error is about the suite as a whole.
func Xprin(ctx context.Context, r manifest.Reader, doc manifest.Document) (cases []spec.Converted, warnings []error, err error) {
	obj, duplicate, err := doc.StrictObject()
	if err := cmp.Or(err, duplicate); err != nil {
		return nil, nil, err
	}
	x := &xprin{builder: newBuilder(ctx, r, doc), ids: map[string]bool{}}
	var f xprinFile
	x.decode(obj, &f, "", x.ignored)
	if len(f.Tests) == 0 && len(x.errs) == 0 {
		x.fail("tests", errors.New("the suite has no tests"))
	}
	if err := errors.Join(x.errs...); err != nil {
		return nil, x.warnings, err
	}
	x.common = f.Common
	for i, test := range f.Tests {
		cases = append(cases, x.test(test, fmt.Sprintf("tests[%d]", i)))
	}
	return cases, x.warnings, nil
}

// ignored adds a warning about an unknown field, which xprin ignores.
func (x *xprin) ignored(field string, f manifest.DecodeFault) {
	err := x.at(field, errors.New(f.Text+"; xprin ignores it"))
	if !slices.ContainsFunc(x.warnings, func(known error) bool { return known.Error() == err.Error() }) {
		x.warnings = append(x.warnings, err)
	}
}

var validID = proc.Regexp(`^[A-Za-z0-9_-]+$`)

// A merged is a test with the common part, and the path in the document of each field.
type merged struct {
	*builder
	at string
	// own are the fields of the test, and shared the common fields, by section and key.
	own, shared map[string]map[string]any
}

func (x *xprin) test(value any, at string) spec.Converted {
	m := &merged{builder: newBuilder(x.ctx, x.reader, x.doc), at: at, own: map[string]map[string]any{}, shared: map[string]map[string]any{}}
	var t, shared xprinTest
	m.decode(x.common, &shared, "common", x.ignored)
	m.decode(value, &t, at, x.ignored)
	if t.Name == "" {
		m.fail(at, errors.New("the test has no name"))
		t.Name = at
	}
	switch {
	case t.ID == "":
	case !validID().MatchString(t.ID):
		m.fail(at+".id", fmt.Errorf("expected letters, digits, _ and -, got %q", t.ID))
	case x.ids[t.ID]:
		m.fail(at+".id", fmt.Errorf("another test has the id %q", t.ID))
	}
	x.ids[t.ID] = true
	var in xprinInputs
	var patches xprinPatches
	m.section(x, "inputs", shared.Inputs, t.Inputs, &in)
	m.section(x, "patches", shared.Patches, t.Patches, &patches)
	hooks := m.merge("hooks", shared.Hooks, t.Hooks)
	for _, key := range manifest.Keys(hooks) {
		if l, ok := hooks[key].([]any); !ok || len(l) > 0 {
			m.fail(m.from("hooks", key), hint.Wrap(errors.New("hooks are shell commands, which are not run"), "prepare the inputs before the test, and remove the hook"))
		}
	}
	m.inputs(in)
	m.composite(in, patches)
	m.assertions(m.merge("assertions", shared.Assertions, t.Assertions))
	return m.converted(t.Name, at)
}

// merge returns the fields of a section: the fields of the test, and the fields of common
// that the test does not set or leaves empty.
func (m *merged) merge(section string, shared, own map[string]any) map[string]any {
	m.own[section], m.shared[section] = own, shared
	all := map[string]any{}
	maps.Copy(all, shared)
	for key, v := range own {
		if !isEmpty(v) || all[key] == nil {
			all[key] = v
		}
	}
	for _, key := range manifest.Keys(all) {
		if field, ok := within(all[key], m.from(section, key), func(s string) bool { return strings.Contains(s, "{{") }); ok {
			m.fail(field, hint.Wrap(errors.New("templates are not supported"), "write the value"))
		}
	}
	return all
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// from returns the path in the document of a field of a section.
func (m *merged) from(section, key string) string {
	_, isShared := m.shared[section][key]
	if v, ok := m.own[section][key]; ok && (!isEmpty(v) || !isShared) {
		return m.at + "." + section + "." + key
	}
	return "common." + section + "." + key
}

func (m *merged) section(x *xprin, section string, shared, own map[string]any, into any) {
	all := m.merge(section, shared, own)
	for _, f := range manifest.DecodeLenient(all, into) {
		field := manifest.JoinPath(append([]string{m.from(section, f.Path[0])}, f.Path[1:]...))
		m.fault(field, f, x.ignored)
	}
}

// inputs sets the fields of the case for inputs, except for the composite resource.
func (m *merged) inputs(in xprinInputs) {
	for _, f := range []struct{ key, value, to string }{
		{"composition", in.Composition, "composition"},
		{"functions", in.Functions, "functions"},
		{"observed-resources", in.Observed, "observed"},
		{"extra-resources", in.Extra, "extraResources"},
		{"function-credentials", in.Credentials, "credentials"},
	} {
		switch {
		case f.value != "":
			m.set(f.value, m.from("inputs", f.key), f.to)
		case f.key == "composition" || f.key == "functions":
			m.fail(m.at, fmt.Errorf("inputs.%s is missing", f.key))
		}
	}
	if len(in.CRDs) > 0 {
		m.set(list(in.CRDs), m.from("inputs", "crds"), "schemas")
		// crossplane validate does not validate patches.
		m.set(map[string]any{"all": true, "ignore": []any{"Composition"}}, m.from("inputs", "crds"), "expect", "valid")
	}
	if len(in.ContextFiles) > 0 {
		files := map[string]any{}
		for key, file := range in.ContextFiles {
			files[key] = file
		}
		m.set(files, m.from("inputs", "context-files"), "contextFiles")
	}
	if len(in.ContextValues) == 0 {
		return
	}
	from, values := m.from("inputs", "context-values"), map[string]any{}
	for _, key := range manifest.Keys(in.ContextValues) {
		v := in.ContextValues[key]
		if text, ok := v.(string); ok {
			var err error
			if v, err = (manifest.Document{Path: "value", Line: 1, Text: []byte(text)}).Value(); err != nil {
				m.fail(manifest.JoinPath([]string{from, key}), err)
			}
		}
		values[key] = v
	}
	m.set(values, from, "context")
}

// composite sets the composite resource of the case, and its XRD.
func (m *merged) composite(in xprinInputs, p xprinPatches) {
	if p.XRD != "" {
		m.set(p.XRD, m.from("patches", "xrd"), "xrd")
		m.set(true, m.from("patches", "xrd"), "allowInvalid") // xprin only applies defaults.
	}
	if (in.XR == "") == (in.Claim == "") {
		m.fail(m.at, errors.New("expected either inputs.xr or inputs.claim"))
		return
	}
	from, file := m.from("inputs", "xr"), in.XR
	if in.Claim != "" {
		from, file = m.from("inputs", "claim"), in.Claim
	}
	if in.Claim == "" && !p.Secret {
		m.set(file, from, "xr")
		return
	}
	if strings.Contains(file, "{{") {
		return // merge has reported the template.
	}
	obj, err := m.first(file)
	if err != nil {
		m.fail(from, err)
		return
	}
	u := &unstructured.Unstructured{Object: obj}
	if in.Claim != "" {
		// xprin appends five random characters to the name; here, they depend on the claim.
		claim := u
		u = claim.DeepCopy()
		u.SetKind("X" + claim.GetKind())
		u.SetNamespace("")
		composition.Bind(u, claim)
	}
	if p.Secret {
		id := uuid.NewSHA1(uuid.Nil, []byte(u.GetKind()+"/"+u.GetNamespace()+"/"+u.GetName())).String()
		ref := map[string]any{"name": cmp.Or(p.SecretName, id), "namespace": cmp.Or(p.SecretNamespace, "default")}
		patch := map[string]any{"metadata": map[string]any{"uid": id}, "spec": map[string]any{"writeConnectionSecretToRef": ref}}
		if in.Claim == "" {
			m.set(map[string]any{"file": file, "patch": patch}, from, "xr")
			return
		}
		u.Object = fieldpath.Map(fieldpath.MergePatch(u.Object, patch))
	}
	m.set(u.Object, from, "xr")
}

type xprinAssertion struct {
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Resource string          `json:"resource"`
	Field    string          `json:"field"`
	Operator string          `json:"operator"`
	Value    *manifest.Value `json:"value"`
	Expected string          `json:"expected"`
}

// assertions sets the assertions of the case. engines has the assertions by engine.
func (m *merged) assertions(engines map[string]any) {
	var all []any
	for _, engine := range []string{"xprin", "diff", "dyff"} {
		if engines[engine] == nil {
			continue
		}
		from := m.from("assertions", engine)
		var assertions []xprinAssertion
		m.decode(engines[engine], &assertions, from, m.unknown)
		for i, a := range assertions {
			m.origins[fmt.Sprintf("expect.assertions[%d]", len(all))] = fmt.Sprintf("%s[%d]", from, i)
			all = append(all, a.fields(engine))
		}
	}
	for _, engine := range manifest.Keys(engines) {
		if engine != "xprin" && engine != "diff" && engine != "dyff" {
			m.fail(m.from("assertions", engine), errors.New("unknown engine of assertions: expected xprin, diff or dyff"))
		}
	}
	if len(all) > 0 {
		m.set(all, m.at, "expect", "assertions")
	}
}

func (a xprinAssertion) fields(engine string) map[string]any {
	out := map[string]any{"type": a.Type}
	if engine != "xprin" {
		out["type"] = strings.ToUpper(engine[:1]) + engine[1:]
	}
	for key, v := range map[string]string{"name": a.Name, "resource": a.Resource, "field": a.Field, "operator": a.Operator, "expected": a.Expected} {
		if v != "" {
			out[key] = v
		}
	}
	if a.Value != nil {
		out["value"] = a.Value.Any
	}
	return out
}
