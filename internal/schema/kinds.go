package schema

import (
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kversion "k8s.io/apimachinery/pkg/version"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// A Kind is a built-in kind of Kubernetes, or of the metadata of Crossplane's packages.
type Kind struct {
	// Namespaced is true if the kind is namespaced.
	Namespaced bool
	// Name validates the name of an object of this kind, and returns the errors.
	Name NameFunc

	fields reflect.Type
	root   func() Node
}

// FindKind returns the built-in kind gvk. The bool is false if gvk is not built in. For the
// kinds of Crossplane, use Release.Definition. FindKind is safe for concurrent use.
func FindKind(gvk schema.GroupVersionKind) (Kind, bool) {
	types := describedTypes
	switch gvk.Group {
	case corev1.GroupName, extv1.GroupName, metaGroup:
		types = registeredTypes
	}
	typeOf, ok := types()[gvk]
	if !ok {
		return Kind{}, false
	}
	name := NameFunc(validation.NameIsDNSSubdomain)
	if special, ok := names[gvk.GroupKind()]; ok {
		name = special
	}
	return Kind{Namespaced: !IsClusterScoped(gvk.GroupKind()), Name: name, fields: typeOf(), root: func() Node { return kindRoots()[gvk]() }}, true
}

// SuggestKind returns err, which is about an object of another kind than expected, with a hint if
// the object's kind is a misspelled kind of Kubernetes or Crossplane.
func SuggestKind(err error, apiVersion, kind string) error {
	return hint.Wrap(err, hint.Meant("kind: ", SimilarKind(apiVersion, kind)))
}

// SimilarKind returns the kind of Kubernetes or Crossplane with the most similar name in the API
// group of apiVersion. It returns "" if the group has no similar kind, or kind itself.
func SimilarKind(apiVersion, kind string) string {
	if kind == "" || apiVersion == "" {
		return ""
	}
	var kinds []string
	for other := range kindsIn(schema.FromAPIVersionAndKind(apiVersion, kind).Group) {
		if other == kind {
			return ""
		}
		kinds = append(kinds, other)
	}
	slices.Sort(kinds) // If several kinds are similar, the same kind is always suggested.
	return hint.Nearest(kind, kinds)
}

// stage matches a version with a word before its last number, such as v1beta1.
var stage = proc.Regexp(`^(v\d+)([a-z]+)(\d+)$`)

// usual are kinds that Misspelled knows without reading the types of Kubernetes, which takes
// milliseconds.
var usual = strings.Fields(`v1/ConfigMap v1/Namespace v1/PersistentVolumeClaim v1/Secret v1/Service v1/ServiceAccount
apps/v1/DaemonSet apps/v1/Deployment apps/v1/StatefulSet batch/v1/CronJob batch/v1/Job autoscaling/v2/HorizontalPodAutoscaler
networking.k8s.io/v1/Ingress networking.k8s.io/v1/NetworkPolicy policy/v1/PodDisruptionBudget
rbac.authorization.k8s.io/v1/ClusterRole rbac.authorization.k8s.io/v1/ClusterRoleBinding
rbac.authorization.k8s.io/v1/Role rbac.authorization.k8s.io/v1/RoleBinding`)

// withoutBeta are kinds that have no alpha or beta version in Kubernetes v1.32 and later
// (https://kubernetes.io/docs/reference/using-api/deprecation-guide).
var withoutBeta = strings.Fields(`CertificateSigningRequest ClusterRole ClusterRoleBinding CronJob CSIDriver CSINode CSIStorageCapacity
CustomResourceDefinition DaemonSet Deployment EndpointSlice Event FlowSchema HorizontalPodAutoscaler Ingress IngressClass Job Lease
MutatingWebhookConfiguration NetworkPolicy PodDisruptionBudget PriorityClass PriorityLevelConfiguration ReplicaSet Role RoleBinding
RuntimeClass StatefulSet StorageClass ValidatingWebhookConfiguration VolumeAttachment`)

// Misspelled returns the apiVersion or the kind that is probably meant if no API server has the
// given apiVersion and kind: the version is missing, alpha or beta is misspelled in it, the kind or
// the group is misspelled in a group of Kubernetes, or the kind of Kubernetes is in another group
// or version. Only groups of Kubernetes have no dot. It returns "" if there is no such mistake.
func Misspelled(apiVersion, kind string) string {
	gv := schema.FromAPIVersionAndKind(apiVersion, "").GroupVersion()
	if found := stage().FindStringSubmatch(gv.Version); found != nil {
		for _, word := range []string{"alpha", "beta"} {
			if hint.EditDistance(found[2], word) == 1 {
				gv.Version = found[1] + word + found[3]
				return gv.String()
			}
		}
	}
	if gv.Group == "" && strings.Contains(gv.Version, ".") {
		return gv.Version + "/VERSION"
	}
	hasDot := strings.Contains(gv.Group, ".")
	if hasDot && !strings.HasSuffix(gv.Group, ".k8s.io") || slices.Contains(usual, apiVersion+"/"+kind) {
		return ""
	}
	var groups []string
	for gvk := range kindTypes() {
		groups = append(groups, gvk.Group)
	}
	slices.Sort(groups)
	if near := hint.Nearest(gv.Group, groups); !hasDot && !slices.Contains(groups, gv.Group) && near != "" {
		gv.Group = near
		return gv.String()
	}
	if near := hint.Misspelled(kind, []string{SimilarKind(apiVersion, kind)}); near != "" {
		return near
	}
	if gv.Group == "extensions" || slices.Contains(groups, gv.Group) {
		return served(gv, kind)
	}
	return ""
}

// served returns the apiVersion of a kind of Kubernetes that gv, a group of Kubernetes and a
// version, does not have. It returns "" if gv has the kind or may have it in another release.
func served(gv schema.GroupVersion, kind string) string {
	var versions, others []string
	for gvk := range kindTypes() {
		switch {
		case gvk.Kind != kind || gvk.Group == metaGroup:
		case gvk.Group == gv.Group:
			versions = append(versions, gvk.Version)
		default:
			others = append(others, gvk.GroupVersion().String())
		}
	}
	switch {
	case len(versions) > 0:
		newest := slices.MaxFunc(versions, kversion.CompareKubeAwareVersionStrings)
		isNewer := kversion.CompareKubeAwareVersionStrings(gv.Version, newest) > 0
		if isNewer || slices.Contains(versions, gv.Version) || stage().MatchString(gv.Version) && !slices.Contains(withoutBeta, kind) {
			return ""
		}
		return schema.GroupVersion{Group: gv.Group, Version: newest}.String()
	case len(others) > 0:
		return slices.Max(others)
	}
	return ""
}

// ownGroups are the API groups of Crossplane, of projects and of xfn.
var ownGroups = strings.Fields("apiextensions.crossplane.io dev.crossplane.io meta.dev.upbound.io meta.pkg.crossplane.io ops.crossplane.io pkg.crossplane.io protection.crossplane.io xfn.dev")

// HasNoXRs reports whether an API version belongs to Kubernetes, Crossplane, projects or xfn, so
// that it has no composite resources and claims.
func HasNoXRs(gv schema.GroupVersion) bool {
	core := gv == schema.GroupVersion{Version: "v1"} || gv.Group != "" && !strings.Contains(gv.Group, ".")
	return core || strings.HasSuffix(gv.Group, ".k8s.io") || slices.Contains(ownGroups, gv.Group)
}

// IsClusterScoped reports whether gk is a cluster-scoped kind of Kubernetes or Crossplane. It reads
// no types and no definitions.
func IsClusterScoped(gk schema.GroupKind) bool {
	switch gk.Group {
	case "apiextensions.crossplane.io", "ops.crossplane.io", "pkg.crossplane.io", "secrets.crossplane.io":
		return true
	case "protection.crossplane.io":
		return gk.Kind == "ClusterUsage"
	}
	return slices.Contains(clusterScoped[gk.Group], gk.Kind)
}

// kindsIn returns the kinds of an API group, some of them repeatedly. Reading the types of
// Kubernetes or the CRDs of a release takes milliseconds, so the current release is first and
// package metadata needs neither.
func kindsIn(group string) iter.Seq[string] {
	return func(yield func(string) bool) {
		switch {
		case group == metaGroup:
			for gvk := range pkgMeta {
				if !yield(gvk.Kind) {
					return
				}
			}
		case !strings.HasSuffix(group, "crossplane.io"):
			for gvk := range kindTypes() {
				if gvk.Group == group && !yield(gvk.Kind) {
					return
				}
			}
		default:
			for _, r := range Releases() {
				for name := range crossplane[r]() {
					if gk := schema.ParseGroupKind(name); gk.Group == group && !yield(gk.Kind) {
						return
					}
				}
			}
		}
	}
}

// Fits reports whether obj can be decoded into the Go type of the kind.
func (k Kind) Fits(obj map[string]any) bool {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(obj, reflect.New(k.fields).Interface()) == nil
}

// Root returns the schema of a whole object of the kind, without required fields.
func (k Kind) Root() Node { return k.root() }

// kindRoots has Kind.Root of all built-in kinds. It converts the Go type of a kind once.
var kindRoots = sync.OnceValue(func() map[schema.GroupVersionKind]func() Node {
	all := map[schema.GroupVersionKind]func() Node{}
	for gvk, typeOf := range kindTypes() {
		all[gvk] = sync.OnceValue(func() Node {
			data, err := json.Marshal(OfType(typeOf()))
			if err != nil {
				return Node{} // A test converts all kinds.
			}
			return Node{version{}.decode(data).structural, true}
		})
	}
	return all
})

// legacyFields are the fields that Crossplane v2 removed, by kind.
var legacyFields = map[string][]string{
	"Composition": {"spec.environment", "spec.functions", "spec.patchSets", "spec.publishConnectionDetailsWithStoreConfigRef", "spec.resources"},
}

// LegacyField reports whether LegacyFields has a path.
func LegacyField(kind, path string) bool { return slices.Contains(LegacyFields(kind), path) }

// LegacyFields returns the paths of the fields that a kind of the group
// apiextensions.crossplane.io had in Crossplane v1, and has no longer in v2.
func LegacyFields(kind string) []string { return legacyFields[kind] }

// A typeMap has a func that returns the Go type of each kind with ObjectMeta, so without lists and
// options such as ListOptions.
type typeMap map[schema.GroupVersionKind]func() reflect.Type

var kindTypes = sync.OnceValue(func() typeMap {
	all := maps.Clone(describedTypes())
	maps.Copy(all, registeredTypes())
	return all
})

var (
	describedTypes  = sync.OnceValue(kubernetesKinds)
	registeredTypes = sync.OnceValue(func() typeMap {
		all := typeMap{}
		for gvk, t := range registered() {
			if f, ok := t.FieldByName("ObjectMeta"); ok && f.Type == reflect.TypeFor[metav1.ObjectMeta]() {
				all[gvk] = func() reflect.Type { return t }
			}
		}
		return all
	})
)

// names has the functions that validate names, for kinds whose names need not be DNS
// subdomains or have further limits (k8s.io/kubernetes, pkg/apis/*/validation).
var names = map[schema.GroupKind]NameFunc{
	{Kind: "Namespace"}: validation.NameIsDNSLabel,
	{Kind: "Service"}:   validation.NameIsDNS1035Label,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               path.ValidatePathSegmentName,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        path.ValidatePathSegmentName,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        path.ValidatePathSegmentName,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: path.ValidatePathSegmentName,
	{Group: "batch", Kind: "CronJob"}:                                cronJobName,
}

// cronJobName validates the name of a CronJob. It is shorter than other names,
// because the names of the CronJob's Jobs get a suffix.
func cronJobName(name string, prefix bool) []string {
	const longest = 52
	if len(name) > longest {
		return []string{"must be no more than 52 characters"}
	}
	return validation.NameIsDNSSubdomain(name, prefix)
}

// clusterScoped lists the built-in kinds that are cluster-scoped, by API group.
var clusterScoped = map[string][]string{
	"":                             {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
	"certificates.k8s.io":          {"CertificateSigningRequest"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	metaGroup:                      {"Configuration", "Function", "Provider"},
}
