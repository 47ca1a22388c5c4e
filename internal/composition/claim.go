package composition

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/schema"
)

// FromClaim returns the XR that Crossplane creates for a claim of xrd. It does
// not change the claim. The default namespace of a claim is "default", as for
// kubectl.
//
// The XR has the claim's spec without the fields that only belong to a claim, a
// claimRef, and the claim's labels and annotations without those of Kubernetes.
// One of the left out fields is the connection secret, whose name Crossplane
// derives from a random UID. The XR has no namespace and no status. Its name is
// the claim's spec.resourceRef, or the claim's name and five characters.
func FromClaim(claim *unstructured.Unstructured, xrd schema.XRD) (*unstructured.Unstructured, error) {
	xr, err := fromClaim(claim, xrd)
	if err != nil {
		return nil, fmt.Errorf("making a composite resource of claim %s %q: %w", claim.GetKind(), claim.GetName(), err)
	}
	return xr, nil
}

func fromClaim(claim *unstructured.Unstructured, xrd schema.XRD) (*unstructured.Unstructured, error) {
	spec, ok := claim.Object["spec"].(map[string]any)
	switch {
	case !xrd.Offers(claim.GroupVersionKind()):
		return nil, fmt.Errorf("the XRD of %s does not offer such claims", xrd.Kind())
	case !xrd.Legacy():
		return nil, errors.New("only an XRD of scope LegacyCluster can offer claims")
	case claim.GetName() == "":
		return nil, errors.New("it has no name")
	case !ok:
		return nil, errors.New("its spec is not an object")
	}
	namespace := cmp.Or(claim.GetNamespace(), "default")
	xr := &unstructured.Unstructured{Object: map[string]any{"spec": forXR(spec)}}
	xr.SetAPIVersion(claim.GetAPIVersion())
	xr.SetKind(xrd.Kind())
	if err := setName(xr, claim, namespace); err != nil {
		return nil, err
	}
	labels := withoutKubernetes(claim.GetLabels())
	labels["crossplane.io/claim-name"], labels["crossplane.io/claim-namespace"] = claim.GetName(), namespace
	xr.SetLabels(labels)
	if annotations := withoutKubernetes(claim.GetAnnotations()); len(annotations) > 0 {
		xr.SetAnnotations(annotations)
	}
	ref := map[string]any{"apiVersion": claim.GetAPIVersion(), "kind": claim.GetKind(), "namespace": namespace, "name": claim.GetName()}
	return xr, unstructured.SetNestedMap(xr.Object, ref, "spec", "claimRef")
}

// forXR returns a copy of a claim's spec without the claim's own fields. The
// revision is only copied under the update policy Manual.
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

// setName sets the XR's name from the claim's reference, or generates one that
// depends only on the claim.
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

// suffix returns the end of a generated name: characters that Kubernetes uses
// there, chosen by the SHA-256 of the seed.
func suffix(seed string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	sum := sha256.Sum256([]byte(seed))
	text := make([]byte, suffixLength)
	for i := range text {
		text[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(text)
}

// withoutKubernetes returns a copy of labels or annotations without those that
// are reserved for Kubernetes.
func withoutKubernetes(all map[string]string) map[string]string {
	kept := make(map[string]string, len(all))
	maps.Copy(kept, all)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		domain, _, _ := strings.Cut(key, "/")
		return strings.HasSuffix(domain, "kubernetes.io") || strings.HasSuffix(domain, "k8s.io")
	})
	return kept
}
