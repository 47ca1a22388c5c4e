package schema

import (
	"maps"
	"reflect"

	pkgmetav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	pkgmetav1alpha1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1alpha1"
	pkgmetav1beta1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1beta1"
	corev1 "k8s.io/api/core/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groups registers the API groups whose Go packages the program imports for
// other reasons, too.
var groups = runtime.NewSchemeBuilder(corev1.AddToScheme, extv1.AddToScheme)

// metaGroup is the API group of package metadata.
const metaGroup = "meta.pkg.crossplane.io"

// pkgMeta has the Go types of the kinds in metaGroup.
var pkgMeta = map[schema.GroupVersionKind]reflect.Type{
	pkgmetav1.ConfigurationGroupVersionKind:       reflect.TypeFor[pkgmetav1.Configuration](),
	pkgmetav1.FunctionGroupVersionKind:            reflect.TypeFor[pkgmetav1.Function](),
	pkgmetav1.ProviderGroupVersionKind:            reflect.TypeFor[pkgmetav1.Provider](),
	pkgmetav1beta1.FunctionGroupVersionKind:       reflect.TypeFor[pkgmetav1beta1.Function](),
	pkgmetav1alpha1.ConfigurationGroupVersionKind: reflect.TypeFor[pkgmetav1alpha1.Configuration](),
	pkgmetav1alpha1.ProviderGroupVersionKind:      reflect.TypeFor[pkgmetav1alpha1.Provider](),
}

// registered returns the Go types of the kinds in groups and pkgMeta,
// including list kinds.
func registered() map[schema.GroupVersionKind]reflect.Type {
	scheme := runtime.NewScheme()
	if err := groups.AddToScheme(scheme); err != nil {
		// AddToScheme returns no error for these packages, and a test calls it.
		panic(err)
	}
	all := maps.Clone(scheme.AllKnownTypes())
	maps.Copy(all, pkgMeta)
	return all
}
