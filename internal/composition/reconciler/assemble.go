package reconciler

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema"
)

// assemble returns the output of a render: the XR and the composed resources after
// Crossplane applies the pipeline's desired state. observed are the observed resources by
// their name in the pipeline.
func assemble(in Input, xr *unstructured.Unstructured, observed map[string]*unstructured.Unstructured, store Store, got *outcome) (*Output, error) {
	labels, taken := labelsOf(xr), sync.OnceValue(store.identities)
	out := got.output(in.ConnectionSecretKeys)
	// Like Crossplane, compare the fields of an object reference, and emit nothing if the XR cannot have it.
	before, after := compositionRef(in.XR, in.Legacy), compositionRef(xr, in.Legacy)
	if after != nil && (before == nil || *before != *after) {
		out.Results = append(out.Results, event("Normal", "SelectComposition", "Successfully selected composition: "+after.Name))
	}
	for _, r := range got.Results {
		out.Results = append(out.Results, eventOf(r, cmp.Or(r.GetReason(), "ComposeResources")))
	}
	refs, known := []any{}, objects{}
	var itself map[string]any
	for _, name := range manifest.Keys(got.Desired.GetResources()) {
		u := body(got.Desired.GetResources()[name])
		keepIdentity(u, observed[name])
		if text := scopeMistake(u, xr); text != "" {
			out.Warnings = append(out.Warnings, fmt.Sprintf("resource %q %s%s", name, text, got.origins[name].At(name, "kind", u.GetKind())))
		}
		if was := forceNamespace(u, xr); was != "" {
			text := fmt.Sprintf("cannot create composed resource %q in namespace %q, using XR namespace %q instead", name, was, xr.GetNamespace())
			out.Results = append(out.Results, event("Warning", "NamespaceOverridden", text))
			out.Warnings = append(out.Warnings, text)
		}
		if err := adopt(u, xr, labels, name, taken); err != nil {
			return nil, fmt.Errorf("composing resource %q: %w", name, err)
		}
		fixConditions(u)
		ref := reference(u, xr)
		if uid := u.GetUID(); uid != "" {
			ref["uid"] = string(uid)
		}
		refs = append(refs, ref)
		if identityOf(u) == identityOf(xr) { // Crossplane changes the XR and creates no other object.
			itself = u.Object
			continue
		}
		out.Warnings = append(out.Warnings, known.add(u, name)...)
		out.Composed = append(out.Composed, u.Object)
	}
	for _, name := range unreadyNames(got.Desired) {
		out.Results = append(out.Results, event("Normal", "ComposeResources", fmt.Sprintf("Composed resource %q is not yet ready", name)))
	}
	doc := compositeDocument(in, xr, got, SortReferences(refs, "apiVersion", "kind", "name", "namespace"))
	if itself != nil {
		delete(doc, "spec") // This resource replaces the references, which Crossplane writes first.
	}
	out.XR = fieldpath.Merge(itself, doc)
	out.Full = fieldpath.Merge(schema.Copy(in.XR.Object), out.XR)
	if got.Context != nil {
		out.Context, out.HasContext = document("Context", "fields", got.Context.AsMap()), true
	}
	return out, nil
}

// objects has the name in the pipeline of each object that the pipeline desires.
type objects map[identity]string

// add returns a warning if another resource is the same object. Crossplane applies both, in the
// order of a Go map, and knows the object by one of their names in the next reconcile.
func (o objects) add(u *unstructured.Unstructured, name string) (warnings []string) {
	id := identityOf(u)
	if before, ok := o[id]; ok && (u.GetName() != "" || u.GetGenerateName() == "") {
		warnings = append(warnings, fmt.Sprintf("resources %q and %q are the same object, and Crossplane applies them in a random order", before, name))
	}
	o[id] = name
	return warnings
}

// ErrNoName is the error for a composite resource without a name that composes resources.
var ErrNoName = errors.New("the composite resource has neither a name nor the label " + LabelComposite)

// adopt sets the name, labels, annotations and owner of a composed resource. It generates
// no name that makes an identity in taken. Crossplane's second name is random; this one is
// always the same.
func adopt(u, xr *unstructured.Unstructured, l labels, name string, taken func() map[identity]bool) error {
	if l.composite == "" {
		next := "set metadata.name in the file of the composite resource"
		switch v, _, _ := unstructured.NestedFieldNoCopy(xr.Object, "metadata", "name"); v.(type) {
		case nil, string:
		case map[string]any, []any:
			next = "metadata.name of the composite resource must be a string, not an object or a list"
		default:
			next = fmt.Sprintf("put metadata.name of the composite resource in quotes: YAML reads it as %v, which is not a string", v)
		}
		return hint.Wrap(ErrNoName, next)
	}
	if u.GetName() == "" && u.GetGenerateName() == "" {
		u.SetGenerateName(l.composite + "-")
	}
	if u.GetName() == "" {
		seed := string(xr.GetUID()) + name
		u.SetName(generateName(u.GetGenerateName(), seed))
		for ; taken()[identityOf(u)]; seed += "\x00" {
			u.SetName(generateName(u.GetGenerateName(), seed+"\x00"))
		}
	}
	if err := validateName(u, name); err != nil {
		return err
	}
	l.mark(u, name)
	if err := SetController(u, xr); err != nil {
		return err
	}
	// A missing apiVersion or kind becomes "".
	u.SetAPIVersion(u.GetAPIVersion())
	u.SetKind(u.GetKind())
	return nil
}

// generateName returns a name of at most 63 bytes from prefix and seed.
func generateName(prefix, seed string) string {
	const longest = 63
	sum := sha256.Sum256([]byte(seed))
	hash := hex.EncodeToString(sum[:])[:12]
	if !strings.HasSuffix(prefix, "-") {
		prefix += "-"
	}
	if room := longest - len(hash); len(prefix) > room {
		if prefix = prefix[:room]; !strings.HasSuffix(prefix, "-") {
			prefix = prefix[:room-1] + "-"
		}
	}
	return prefix + hash
}

// An InvalidNameError is the error of a composed resource whose name is not valid.
type InvalidNameError struct {
	Name string
	// Resource is the name of the resource in the pipeline.
	Resource string
}

// Reason explains a name that a format has printed for wrong values. It returns "" for other names.
func (e *InvalidNameError) Reason() string {
	found := placeholderIn(e.Name)
	if found == "" {
		return ""
	}
	return fmt.Sprintf("correct the format or its variables: %q is not a name, as %s", found, placeholderReason(found))
}

func (e *InvalidNameError) Error() string {
	return fmt.Sprintf("the name %q is not a valid RFC 1123 subdomain", e.Name)
}

// validateName checks that the name of a resource is a valid RFC 1123 subdomain. Names of RBAC
// kinds may also contain colons.
func validateName(u *unstructured.Unstructured, resource string) error {
	name := u.GetName()
	gvk := u.GroupVersionKind()
	rbac := []string{"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}
	if gvk.Group == "rbac.authorization.k8s.io" && slices.Contains(rbac, gvk.Kind) {
		name = strings.ReplaceAll(name, ":", "")
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return &InvalidNameError{Name: u.GetName(), Resource: resource}
	}
	return nil
}

// fixConditions replaces the times in status.conditions with the constant Time. If status
// is an object without conditions, fixConditions sets status.conditions to null. Like the
// CLI, it changes nothing if the conditions cannot be decoded.
func fixConditions(u *unstructured.Unstructured) {
	status, ok := u.Object["status"].(map[string]any)
	if !ok {
		return
	}
	data, err := json.Marshal(status["conditions"])
	var decoded []metav1.Condition
	switch {
	case err != nil || json.Unmarshal(data, &decoded) != nil:
	case decoded == nil:
		status["conditions"] = nil
	default:
		status["conditions"] = ParseConditions(status["conditions"]).Value()
	}
}

// compositeDocument returns a document with the XR's identity and the fields of
// the XR that Crossplane writes.
func compositeDocument(in Input, xr *unstructured.Unstructured, got *outcome, refs []any) map[string]any {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(xr.GetAPIVersion())
	u.SetKind(xr.GetKind())
	u.SetName(xr.GetName())
	u.SetNamespace(xr.GetNamespace())
	spec := map[string]any{"resourceRefs": refs}
	if u.Object["spec"] = spec; !in.Legacy {
		u.Object["spec"] = map[string]any{"crossplane": spec}
	}
	status := fieldpath.Map(body(got.Desired.GetComposite()).Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	cs := ParseConditions(status["conditions"])
	for _, c := range conditionsOf(xr) {
		cs.Set(c)
	}
	claim := setCustom(&cs, got.Conditions, fieldpath.List(status, "claimConditionTypes"))
	cs.Set(Condition{Type: TypeSynced, Status: "True", Reason: "ReconcileSuccess"})
	cs.Set(ready(got.Desired.GetComposite().GetReady(), got.Desired))
	status["conditions"] = cs.Value()
	if in.Legacy && len(claim) > 0 {
		status["claimConditionTypes"] = claim
	}
	u.Object["status"] = status
	return u.Object
}

// setCustom sets the conditions that functions returned, except for the condition
// types that Crossplane reserves. It returns claim, the condition types that Crossplane
// also sets on the claim, with those of the custom conditions.
func setCustom(cs *Conditions, custom []*fnv1.Condition, claim []any) []any {
	reserved := []string{"Ready", "Synced", "Healthy", "UpToDate", "Responsive"}
	for _, c := range custom {
		if slices.Contains(reserved, c.GetType()) {
			continue
		}
		cs.Set(fromFunction(c))
		if c.GetTarget() == fnv1.Target_TARGET_COMPOSITE_AND_CLAIM && !slices.Contains(claim, any(c.GetType())) {
			claim = append(claim, c.GetType())
		}
	}
	return claim
}

// SortReferences sorts references to resources by the concatenation of the texts of fields, as
// Crossplane does, and returns them.
func SortReferences(refs []any, fields ...string) []any {
	type keyed struct {
		key string
		ref any
	}
	list := make([]keyed, len(refs))
	for i, ref := range refs {
		list[i].ref = ref
		for _, field := range fields {
			list[i].key += fieldpath.Text(ref, field)
		}
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	for i := range list {
		refs[i] = list[i].ref
	}
	return refs
}

// compositionRef returns an XR's reference to its Composition, or nil.
func compositionRef(xr *unstructured.Unstructured, legacy bool) *corev1.ObjectReference {
	v, found, err := unstructured.NestedFieldNoCopy(xr.Object, specPath(legacy, "compositionRef")...)
	if err != nil || !found {
		return nil
	}
	ref := &corev1.ObjectReference{}
	if data, err := json.Marshal(v); err != nil || json.Unmarshal(data, ref) != nil {
		return nil
	}
	return ref
}

// eventOf returns the event of a function's result, with another reason than the result's.
func eventOf(r result, reason string) map[string]any {
	severity, format := "Warning", "Pipeline step %q: %s"
	switch r.GetSeverity() {
	case fnv1.Severity_SEVERITY_NORMAL:
		severity = "Normal"
	case fnv1.Severity_SEVERITY_WARNING:
	default:
		format = "Pipeline step %q returned a result of unknown severity (assuming warning): %s"
	}
	return event(severity, reason, fmt.Sprintf(format, r.Step, r.GetMessage()))
}
