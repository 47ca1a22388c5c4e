package clusterdiff

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/xfn-dev/xfn/internal/schema"
)

// fieldOwnerPrefix is the prefix of the field managers by which Crossplane applies composed
// resources.
const fieldOwnerPrefix = "apiextensions.crossplane.io/composed"

// fieldOwner returns the field manager by which Crossplane applies the resources of an XR.
func fieldOwner(xr map[string]any) string {
	u := unstructured.Unstructured{Object: xr}
	return fmt.Sprintf("%s/%x", fieldOwnerPrefix, sha256.Sum256([]byte(u.GetName()+u.GroupVersionKind().GroupKind().String())))
}

// anyVersion replaces the versions of managed fields: fields are not converted.
const anyVersion = "any"

// An applied is a resource before and after a server-side apply.
type applied struct {
	before, after map[string]any
	// guess is the reason why the result may differ from the result of an API server, or "".
	guess string
	// managed is true if the object has managed fields.
	managed bool
}

// apply applies desired to the object live, as Crossplane does with the field manager owner.
// It removes the fields that owner manages and desired lacks. If live has no managed
// fields, previous is the object that owner applied before, or nil.
//
// If types does not have the kind, or an object does not fit its schema, apply infers the
// structure of lists.
func apply(types schema.Definitions, owner string, live, desired, previous map[string]any) (applied, error) {
	managers, err := managedFields(live, owner)
	if err != nil {
		return applied{}, err
	}
	now, next := runtime.DeepCopyJSON(applicable(live, "labels", "annotations")), applicable(desired, "labels", "annotations")
	if version, ok := next["apiVersion"]; ok {
		now["apiVersion"] = version // Versions that can be compared differ only in their names.
	}
	var last map[string]any
	if len(managers) == 0 && previous != nil {
		last = applicable(previous, "labels", "annotations")
	}
	t, known := types.ApplyType((&unstructured.Unstructured{Object: next}).GroupVersionKind())
	var after map[string]any
	guess := ""
	if known {
		t.Default(now)
		if after, err = applyTyped(t.ParseableType, now, next, last, managers, owner); err != nil {
			guess = fmt.Sprintf("does not fit its schema (%v): lists are compared by name or index", err)
		}
	}
	if after == nil {
		g := infer(managers, now, next, last)
		if len(g.guessed) > 0 && guess == "" {
			guess = "has no known schema: lists are compared by name or index"
		}
		next, _ = g.adopt(nil, now, next).(map[string]any)
		if after, err = applyTyped(g.of, now, next, last, managers, owner); err != nil {
			return applied{}, fmt.Errorf("merging: %w", err)
		}
	}
	if known {
		t.Default(after)
	}
	if kind, ok := schema.FindKind((&unstructured.Unstructured{Object: next}).GroupVersionKind()); ok && guess == "" {
		if wrong := kind.Decode(next); len(wrong) > 0 {
			guess = fmt.Sprintf("is refused by an API server (%s)", wrong[0])
		}
	}
	if next["apiVersion"] == "v1" && next["kind"] == "Secret" && guess == "" {
		mergeStringData(after)
	}
	return applied{withServerFields(now, live), withServerFields(after, live), guess, len(managers) > 0}, nil
}

// mergeStringData sets the data of a Secret to its stringData in base64, and removes the
// stringData, as the API server does. All values of the stringData must be strings.
func mergeStringData(secret map[string]any) {
	texts, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	delete(secret, "stringData")
	old, _ := secret["data"].(map[string]any)
	data := maps.Collect(maps.All(old)) // not nil
	for key, text := range texts {
		if text, ok := text.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	secret["data"] = data
}

// unknownOwners stands for the managers of an object without managed fields. It owns all
// fields that the previous configuration lacks.
const unknownOwners = "unknown"

// applyTyped applies next to the object now. last is the previous configuration, or nil
// if managers has the fields of owner.
func applyTyped(t typed.ParseableType, now, next, last map[string]any, managers fieldpath.ManagedFields, owner string) (map[string]any, error) {
	old, err := t.FromUnstructured(now, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	config, err := t.FromUnstructured(next)
	if err != nil {
		return nil, err
	}
	managers = managers.Copy()
	if last != nil {
		before, err := t.FromUnstructured(last)
		if err != nil {
			return nil, err
		}
		set, err := before.ToFieldSet()
		if err != nil {
			return nil, err
		}
		others, err := old.ToFieldSet()
		if err != nil {
			return nil, err
		}
		managers[owner] = fieldpath.NewVersionedSet(set, anyVersion, true)
		managers[unknownOwners] = fieldpath.NewVersionedSet(others.RecursiveDifference(set), anyVersion, false)
	}
	updater := (&merge.UpdaterBuilder{Converter: sameVersion{}, ReturnInputOnNoop: true}).BuildUpdater()
	merged, _, err := updater.Apply(old, config, anyVersion, managers, owner, true)
	if err != nil {
		return nil, err
	}
	after, _ := merged.AsValue().Unstructured().(map[string]any)
	return runtime.DeepCopyJSON(after), nil
}

// sameVersion implements merge.Converter for objects that have one version.
type sameVersion struct{}

func (sameVersion) Convert(o *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return o, nil
}

func (sameVersion) IsMissingVersionError(error) bool { return false }

// managedFields returns the fields that each manager of an object has. The manager that
// Crossplane used for the XR is called owner.
func managedFields(live map[string]any, owner string) (fieldpath.ManagedFields, error) {
	managers := fieldpath.ManagedFields{}
	u := unstructured.Unstructured{Object: live}
	entries := u.GetManagedFields()
	exact := slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == owner })
	for i, e := range entries {
		if e.FieldsV1 == nil || e.Subresource != "" {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(strings.NewReader(string(e.FieldsV1.Raw))); err != nil {
			return nil, fmt.Errorf("reading metadata.managedFields[%d]: %w", i, err)
		}
		ours := e.Operation == metav1.ManagedFieldsOperationApply
		name := fmt.Sprintf("%s %s %d", e.Manager, e.Operation, i)
		if ours && (e.Manager == owner || !exact && strings.HasPrefix(e.Manager, fieldOwnerPrefix)) {
			name = owner
		}
		managers[name] = fieldpath.NewVersionedSet(set, anyVersion, ours)
	}
	return managers, nil
}

// applicable returns the part of a resource that Crossplane applies. The part has no
// status, and only the given fields of metadata.
func applicable(resource map[string]any, metadata ...string) map[string]any {
	out := maps.Clone(resource)
	delete(out, "status")
	if all, ok := out["metadata"].(map[string]any); ok {
		kept := maps.Clone(all)
		maps.DeleteFunc(kept, func(field string, _ any) bool { return !slices.Contains(metadata, field) })
		out["metadata"] = kept
	}
	return out
}

// withServerFields adds to an applicable object the status and the metadata of live.
func withServerFields(object, live map[string]any) map[string]any {
	if status, ok := live["status"]; ok {
		object["status"] = status
	}
	all, ok := live["metadata"].(map[string]any)
	if !ok {
		return object
	}
	merged := maps.Clone(all)
	delete(merged, "labels")
	delete(merged, "annotations")
	applied, _ := object["metadata"].(map[string]any)
	maps.Copy(merged, applied)
	object["metadata"] = merged
	return object
}
