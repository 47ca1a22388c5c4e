package composition

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/schema"
)

// FromClaim returns the XR that Crossplane creates for a claim of xrd. A claim without a
// namespace is in the namespace "default". FromClaim does not change the claim.
//
// The XR has a claimRef, the claim's spec without the claim's own fields, and the
// claim's labels and annotations, except the labels and annotations of Kubernetes. It
// has no namespace and no status. Its name is the name in the claim's spec.resourceRef,
// or the claim's name and five characters. The connection secret is omitted, because
// Crossplane derives its name from a random UID.
func FromClaim(claim *unstructured.Unstructured, xrd schema.XRD) (xr *unstructured.Unstructured, err error) {
	spec, ok := claim.Object["spec"].(map[string]any)
	namespace := cmp.Or(claim.GetNamespace(), "default")
	switch {
	case !xrd.Offers(claim.GroupVersionKind()):
		err = fmt.Errorf("the XRD of %s does not offer claims of this kind", xrd.Kind())
	case !xrd.Legacy():
		err = errors.New("only an XRD of scope LegacyCluster can offer claims")
	case claim.GetName() == "":
		err = errors.New("the claim has no name")
	case !ok:
		err = errors.New("the claim's spec is not an object")
	default:
		xr = &unstructured.Unstructured{Object: map[string]any{"spec": forXR(spec)}}
		err = setName(xr, claim, namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("creating a composite resource of claim %s %q: %w", claim.GetKind(), claim.GetName(), err)
	}
	xr.SetAPIVersion(claim.GetAPIVersion())
	xr.SetKind(xrd.Kind())
	labels := withoutKubernetes(claim.GetLabels())
	labels["crossplane.io/claim-name"], labels["crossplane.io/claim-namespace"] = claim.GetName(), namespace
	xr.SetLabels(labels)
	if annotations := withoutKubernetes(claim.GetAnnotations()); len(annotations) > 0 {
		xr.SetAnnotations(annotations)
	}
	ref := map[string]any{"apiVersion": claim.GetAPIVersion(), "kind": claim.GetKind(), "namespace": namespace, "name": claim.GetName()}
	return xr, unstructured.SetNestedMap(xr.Object, ref, "spec", "claimRef")
}

// Bind names an XR after its claim, and sets its labels and its claimRef. Other tools add a random
// suffix to the name. Here, it is a hash of the claim's name, so that it is the same in each run.
func Bind(xr, claim *unstructured.Unstructured) {
	sum := sha256.Sum256([]byte(claim.GetNamespace() + "/" + claim.GetName()))
	xr.SetName(claim.GetName() + "-" + hex.EncodeToString(sum[:])[:5])
	labels := maps.Collect(maps.All(xr.GetLabels())) // not nil
	labels["crossplane.io/claim-name"], labels["crossplane.io/claim-namespace"] = claim.GetName(), claim.GetNamespace()
	xr.SetLabels(labels)
	spec, _ := xr.Object["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		xr.Object["spec"] = spec
	}
	spec["claimRef"] = map[string]any{"apiVersion": claim.GetAPIVersion(), "kind": claim.GetKind(), "name": claim.GetName(), "namespace": claim.GetNamespace()}
}

// forXR returns a copy of a claim's spec without the claim's own fields. It
// copies compositionRevisionRef only if compositionUpdatePolicy is Manual.
func forXR(spec map[string]any) map[string]any {
	spec = runtime.DeepCopyJSON(spec)
	for _, own := range []string{"resourceRef", "compositeDeletePolicy", "writeConnectionSecretToRef", "publishConnectionDetailsTo"} {
		delete(spec, own)
	}
	if spec["compositionUpdatePolicy"] != "Manual" {
		delete(spec, "compositionRevisionRef")
	}
	return spec
}

// setName sets the XR's name to the name in the claim's spec.resourceRef or, if
// there is none, to a name generated from the claim.
func setName(xr, claim *unstructured.Unstructured, namespace string) error {
	name, _, _ := unstructured.NestedString(claim.Object, "spec", "resourceRef", "name")
	if name == "" {
		const longest = 63 - suffixLength
		prefix := claim.GetName() + "-"
		xr.SetGenerateName(prefix)
		name = prefix[:min(len(prefix), longest)] + suffix(namespace+"/"+claim.GetName())
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("the name %q that the composite resource would have is not a valid RFC 1123 subdomain", name)
	}
	xr.SetName(name)
	return nil
}

const suffixLength = 5

// suffix returns the last characters of a generated name. They depend on the
// SHA-256 of the seed.
func suffix(seed string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	sum := sha256.Sum256([]byte(seed))
	text := make([]byte, suffixLength)
	for i := range text {
		text[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(text)
}

func withoutKubernetes(all map[string]string) map[string]string {
	kept := map[string]string{}
	maps.Copy(kept, all)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		domain, _, _ := strings.Cut(key, "/")
		return strings.HasSuffix(domain, "kubernetes.io") || strings.HasSuffix(domain, "k8s.io")
	})
	return kept
}
