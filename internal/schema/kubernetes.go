package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	pkgmetav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	pkgmetav1alpha1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1alpha1"
	pkgmetav1beta1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1beta1"
	corev1 "k8s.io/api/core/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// kubernetesJSON describes Kubernetes kinds whose Go packages are not imported,
// because these would add three megabytes to the program and slow down the
// start of every command. TestKubernetes writes the file from the Go types.
//
//go:embed kubernetes.json
var kubernetesJSON []byte

// described has the fields of Go types by name, as "FIELD:TYPE FIELD:TYPE" in the order of the names.
// TYPE is a key of Types or the name of one of leaves. "[]" before it means a list, and "{}" a map.
type described struct {
	// Kinds maps "apiVersion kind" to the name of the kind's type in Types.
	Kinds map[string]string `json:"kinds"`
	Types map[string]string `json:"types"`
}

// leaves returns the Go types that kubernetes.json refers to by name, but whose
// fields it does not list.
func leaves() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[int32](), reflect.TypeFor[int64](), reflect.TypeFor[uint8](),
		reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[metav1.LabelSelector](), reflect.TypeFor[metav1.Condition](),
		reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.DeleteOptions](),
		reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[runtime.RawExtension](),
		reflect.TypeFor[corev1.EventSource](), reflect.TypeFor[corev1.NodeSelector](), reflect.TypeFor[corev1.ObjectReference](),
		reflect.TypeFor[corev1.PersistentVolumeClaim](), reflect.TypeFor[corev1.PersistentVolumeSpec](), reflect.TypeFor[corev1.PodTemplateSpec](),
		reflect.TypeFor[corev1.Toleration](), reflect.TypeFor[corev1.TopologySelectorTerm](), reflect.TypeFor[corev1.TypedLocalObjectReference](),
	}
}

// kubernetesKinds returns the kinds in kubernetesJSON. Each kind has a func that generates its
// Go type from the fields in kubernetesJSON at its first call, because generating the types of
// all kinds takes milliseconds.
func kubernetesKinds() typeMap {
	var d described
	if err := json.Unmarshal(kubernetesJSON, &d); err != nil {
		// kubernetes.json is embedded, and a test decodes it.
		panic(err)
	}
	known := map[string]reflect.Type{}
	for _, t := range leaves() {
		known[t.String()] = t
	}
	var mu sync.Mutex // mu guards known.
	all := typeMap{}
	for name, typeName := range d.Kinds {
		apiVersion, kind, _ := strings.Cut(name, " ")
		all[schema.FromAPIVersionAndKind(apiVersion, kind)] = func() reflect.Type {
			mu.Lock()
			defer mu.Unlock()
			return d.typeOf(typeName, known)
		}
	}
	return all
}

// typeOf returns the Go type called name in kubernetes.json, and caches it in known.
func (d described) typeOf(name string, known map[string]reflect.Type) reflect.Type {
	if t, ok := known[name]; ok {
		return t
	}
	if element, ok := strings.CutPrefix(name, "[]"); ok {
		return reflect.SliceOf(d.typeOf(element, known))
	}
	if element, ok := strings.CutPrefix(name, "{}"); ok {
		return reflect.MapOf(reflect.TypeFor[string](), d.typeOf(element, known))
	}
	if d.Types[name] == "" {
		panic(fmt.Sprintf("no type is called %q", name))
	}
	var fields []reflect.StructField
	for i, f := range strings.Fields(d.Types[name]) {
		field, typeName, _ := strings.Cut(f, ":")
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: d.typeOf(typeName, known), Tag: reflect.StructTag(fmt.Sprintf("json:%q", field)),
		})
	}
	known[name] = reflect.StructOf(fields)
	return known[name]
}

// groups registers the API groups whose Go packages the program imports for
// other reasons, too.
var groups = runtime.NewSchemeBuilder(corev1.AddToScheme, extv1.AddToScheme)

// metaGroup is the API group of package metadata.
const metaGroup = "meta.pkg.crossplane.io"

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
