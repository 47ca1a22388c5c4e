package schema

import (
	"maps"
	"reflect"

	xpv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xpv1alpha1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1alpha1"
	xpv1beta1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1beta1"
	xpv2 "github.com/crossplane/crossplane/apis/v2/apiextensions/v2"
	opsv1alpha1 "github.com/crossplane/crossplane/apis/v2/ops/v1alpha1"
	pkgmetav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	pkgmetav1alpha1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1alpha1"
	pkgmetav1beta1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1beta1"
	pkgv1beta1 "github.com/crossplane/crossplane/apis/v2/pkg/v1beta1"
	protectionv1beta1 "github.com/crossplane/crossplane/apis/v2/protection/v1beta1"
	corev1 "k8s.io/api/core/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groups registers the API groups whose Go packages the program imports for
// other reasons, too.
var groups = runtime.NewSchemeBuilder(
	corev1.AddToScheme, extv1.AddToScheme,
	xpv1.AddToScheme, xpv2.AddToScheme, xpv1beta1.AddToScheme, xpv1alpha1.AddToScheme,
	opsv1alpha1.AddToScheme, pkgv1beta1.AddToScheme, protectionv1beta1.AddToScheme,
)

// pkgv1 has the Go types of kinds in pkg.crossplane.io/v1. The Go package of that version
// is not imported, because it depends on a client of the API server.
var pkgv1 = map[string]reflect.Type{
	"Function":         reflect.TypeFor[pkgv1beta1.Function](),
	"FunctionRevision": reflect.TypeFor[pkgv1beta1.FunctionRevision](),
	"Provider":         reflect.TypeFor[pkgv1beta1.Function](),
	"Configuration":    reflect.TypeFor[configuration](),
}

// configuration is a Configuration of pkg.crossplane.io/v1.
type configuration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   pkgv1beta1.PackageSpec    `json:"spec,omitempty"`
	Status pkgv1beta1.FunctionStatus `json:"status,omitempty"`
}

// pkgMeta has the Go types of kinds in meta.pkg.crossplane.io, by version and kind.
var pkgMeta = map[string]map[string]reflect.Type{
	"v1": {
		"Configuration": reflect.TypeFor[pkgmetav1.Configuration](),
		"Function":      reflect.TypeFor[pkgmetav1.Function](),
		"Provider":      reflect.TypeFor[pkgmetav1.Provider](),
	},
	"v1beta1": {"Function": reflect.TypeFor[pkgmetav1beta1.Function]()},
	"v1alpha1": {
		"Configuration": reflect.TypeFor[pkgmetav1alpha1.Configuration](),
		"Provider":      reflect.TypeFor[pkgmetav1alpha1.Provider](),
	},
}

// registered returns the Go types of the kinds in groups, pkgv1 and pkgMeta,
// including list kinds.
func registered() map[schema.GroupVersionKind]reflect.Type {
	scheme := runtime.NewScheme()
	if err := groups.AddToScheme(scheme); err != nil {
		// AddToScheme returns no error for these packages, and a test calls it.
		panic(err)
	}
	all := maps.Clone(scheme.AllKnownTypes())
	for kind, t := range pkgv1 {
		all[schema.GroupVersionKind{Group: pkgv1beta1.Group, Version: "v1", Kind: kind}] = t
	}
	for version, kinds := range pkgMeta {
		for kind, t := range kinds {
			all[schema.GroupVersionKind{Group: "meta.pkg.crossplane.io", Version: version, Kind: kind}] = t
		}
	}
	return all
}
