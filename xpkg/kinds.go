package xpkg

import (
	"fmt"
	"slices"
	"strings"

	xpv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xpv1alpha1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1alpha1"
	xpv2 "github.com/crossplane/crossplane/apis/v2/apiextensions/v2"
	opsv1alpha1 "github.com/crossplane/crossplane/apis/v2/ops/v1alpha1"
	metav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	metav1alpha1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1alpha1"
	metav1beta1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1beta1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
)

const (
	metaGroup     = "meta.pkg.crossplane.io"
	function      = "Function"
	configuration = "Configuration"
	provider      = "Provider"
)

// A typeMeta identifies a type of object.
type typeMeta struct{ apiVersion, kind string }

// A kind is a type that packages may hold: the Go type that decides how it is
// written, and the kinds of package that may hold it.
type kind struct {
	new func() any
	in  []string
}

func of[T any](in ...string) kind {
	return kind{new: func() any { return new(T) }, in: in}
}

// kinds are the types that the v2 control plane decodes from packages. The
// metadata is in the package of its own kind.
var kinds = map[typeMeta]kind{
	{metaGroup + "/v1", function}:            of[metav1.Function](function),
	{metaGroup + "/v1beta1", function}:       of[metav1beta1.Function](function),
	{metaGroup + "/v1", configuration}:       of[metav1.Configuration](configuration),
	{metaGroup + "/v1alpha1", configuration}: of[metav1alpha1.Configuration](configuration),
	{metaGroup + "/v1", provider}:            of[metav1.Provider](provider),
	{metaGroup + "/v1alpha1", provider}:      of[metav1alpha1.Provider](provider),

	{"apiextensions.k8s.io/v1", "CustomResourceDefinition"}:      of[extv1.CustomResourceDefinition](function, provider),
	{"apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"}: of[extv1beta1.CustomResourceDefinition](function, provider),

	{"apiextensions.crossplane.io/v1", "CompositeResourceDefinition"}:           of[xpv1.CompositeResourceDefinition](configuration),
	{"apiextensions.crossplane.io/v2", "CompositeResourceDefinition"}:           of[xpv2.CompositeResourceDefinition](configuration),
	{"apiextensions.crossplane.io/v1", "Composition"}:                           of[xpv1.Composition](configuration),
	{"apiextensions.crossplane.io/v1alpha1", "ManagedResourceActivationPolicy"}: of[xpv1alpha1.ManagedResourceActivationPolicy](configuration),
	{"ops.crossplane.io/v1alpha1", "Operation"}:                                 of[opsv1alpha1.Operation](configuration),
	{"ops.crossplane.io/v1alpha1", "CronOperation"}:                             of[opsv1alpha1.CronOperation](configuration),
	{"ops.crossplane.io/v1alpha1", "WatchOperation"}:                            of[opsv1alpha1.WatchOperation](configuration),

	{"apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition"}: of[xpv1alpha1.ManagedResourceDefinition](provider),
	{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"}:   of[admissionv1.MutatingWebhookConfiguration](provider),
	{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"}: of[admissionv1.ValidatingWebhookConfiguration](provider),
}

// isMeta reports whether o is package metadata.
func isMeta(o Object) bool { return strings.HasPrefix(o.APIVersion, metaGroup+"/") }

// allowed reports whether o may be in a package of kind pkg.
func allowed(pkg string, o Object) bool {
	return slices.Contains(kinds[typeMeta{o.APIVersion, o.Kind}].in, pkg)
}

// allowedHint says what a package of kind pkg may hold.
func allowedHint(pkg string) string {
	var names []string
	for t, k := range kinds {
		if slices.Contains(k.in, pkg) && !strings.HasPrefix(t.apiVersion, metaGroup) {
			names = append(names, t.kind)
		}
	}
	slices.Sort(names)
	return fmt.Sprintf("Besides its metadata, a %s package may hold %s.", pkg, strings.Join(slices.Compact(names), ", "))
}
