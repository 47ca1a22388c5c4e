package autoready

import (
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// ready reports whether an observed object is ready: by the check for its kind,
// or by its Ready condition if there is no check or the check fails.
func ready(obj *structpb.Struct) bool {
	check, ok := checks[kindOf(obj)]
	return ok && check(obj) || sdk.ConditionStatus(obj, "Ready") == string(metav1.ConditionTrue)
}

func kindOf(obj *structpb.Struct) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(at(obj, "apiVersion").GetStringValue(), at(obj, "kind").GetStringValue())
}

// checks are for Kubernetes kinds that have no Ready condition. For other
// versions of these kinds only the Ready condition is used.
var checks = map[schema.GroupVersionKind]func(*structpb.Struct) bool{
	{Version: "v1", Kind: "ConfigMap"}:      always,
	{Version: "v1", Kind: "Namespace"}:      always,
	{Version: "v1", Kind: "Secret"}:         always,
	{Version: "v1", Kind: "ServiceAccount"}: always,

	{Version: "v1", Kind: "Service"}:                             service,
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}: balanced,
	{Version: "v1", Kind: "PersistentVolumeClaim"}:               typed(claim),

	{Version: "v1", Kind: "Pod"}:                        typed(pod),
	{Group: "apps", Version: "v1", Kind: "Deployment"}:  deployment,
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}: statefulSet,
	{Group: "apps", Version: "v1", Kind: "DaemonSet"}:   daemonSet,
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}:  typed((*replicaSet).ready),
	{Group: "batch", Version: "v1", Kind: "Job"}:        typed((*job).ready),
	{Group: "batch", Version: "v1", Kind: "CronJob"}:    typed((*cronJob).ready),

	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: typed((*autoscaler).ready),
}

func always(*structpb.Struct) bool { return true }

// typed converts a check of a typed object. An object with a field of the wrong
// type is not ready.
func typed[K any](ready func(*K) bool) func(*structpb.Struct) bool {
	return func(obj *structpb.Struct) bool {
		k := new(K)
		return runtime.DefaultUnstructuredConverter.FromUnstructured(obj.AsMap(), k) == nil && ready(k)
	}
}

func service(obj *structpb.Struct) bool {
	return at(obj, "spec", "type").GetStringValue() != "LoadBalancer" || balanced(obj)
}

// balanced reports whether a load balancer has an address.
func balanced(obj *structpb.Struct) bool {
	return len(at(obj, "status", "loadBalancer", "ingress").GetListValue().GetValues()) > 0
}

func claim(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimBound }

func pod(p *corev1.Pod) bool {
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return true
	case corev1.PodRunning:
		return p.Spec.RestartPolicy == corev1.RestartPolicyAlways && podReady(p.Status.Conditions)
	default:
		return false
	}
}

func podReady(conditions []corev1.PodCondition) bool {
	for _, c := range conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func deployment(obj *structpb.Struct) bool {
	return asMany(obj, replicas(obj), "updatedReplicas", "availableReplicas") && available(obj)
}

func available(obj *structpb.Struct) bool {
	for _, c := range at(obj, "status", "conditions").GetListValue().GetValues() {
		if c := c.GetStructValue(); at(c, "type").GetStringValue() == "Available" && at(c, "status").GetStringValue() == "True" {
			return true
		}
	}
	return false
}

func statefulSet(obj *structpb.Struct) bool {
	current, hasCurrent := at(obj, "status", "currentRevision").GetKind().(*structpb.Value_StringValue)
	update, hasUpdate := at(obj, "status", "updateRevision").GetKind().(*structpb.Value_StringValue)
	return asMany(obj, replicas(obj), "readyReplicas", "currentReplicas") &&
		hasCurrent && hasUpdate && current.StringValue == update.StringValue
}

func daemonSet(obj *structpb.Struct) bool {
	want, ok := count(at(obj, "status", "desiredNumberScheduled"))
	return ok && asMany(obj, want, "numberReady", "updatedNumberScheduled", "numberAvailable")
}

// replicas returns the desired number of replicas.
func replicas(obj *structpb.Struct) int64 {
	if n, ok := count(at(obj, "spec", "replicas")); ok {
		return n
	}
	return 1
}

// asMany reports whether all of these counts are in a workload's status and
// equal to want.
func asMany(obj *structpb.Struct, want int64, counts ...string) bool {
	for _, field := range counts {
		if n, ok := count(at(obj, "status", field)); !ok || n != want {
			return false
		}
	}
	return true
}

// count returns a number without its fraction.
func count(v *structpb.Value) (int64, bool) {
	n, ok := v.GetKind().(*structpb.Value_NumberValue)
	if !ok {
		return 0, false
	}
	return int64(n.NumberValue), true
}

// at returns the value at a path of keys, or nil.
func at(obj *structpb.Struct, path ...string) *structpb.Value {
	var v *structpb.Value
	for _, key := range path {
		v = obj.GetFields()[key]
		obj = v.GetStructValue()
	}
	return v
}
