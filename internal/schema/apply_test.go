package schema_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/client-go/pkg/version" // go.mod keeps the module, whose source applySchema reads.
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

// setInGo has defaults that functions of the API server set, so that the published schemas
// lack them (k8s.io/kubernetes, pkg/apis/*/v1/defaults.go). It has the defaults that do
// not depend on other fields.
var setInGo = map[string]map[string]any{
	"core.v1.ServiceSpec":           {"sessionAffinity": "None", "type": "ClusterIP"},
	"core.v1.PodSpec":               {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30, "enableServiceLinks": true},
	"core.v1.Container":             {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
	"core.v1.Probe":                 {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
	"core.v1.HTTPGetAction":         {"path": "/", "scheme": "HTTP"},
	"core.v1.SecretVolumeSource":    {"defaultMode": 420},
	"core.v1.ConfigMapVolumeSource": {"defaultMode": 420},
	"core.v1.ProjectedVolumeSource": {"defaultMode": 420},
	"core.v1.PersistentVolumeSpec":  {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
	"core.v1.PersistentVolumeClaimSpec": {
		"volumeMode": "Filesystem",
	},
	"core.v1.Secret":                             {"type": "Opaque"},
	"apps.v1.DeploymentSpec":                     {"replicas": 1, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10},
	"apps.v1.DeploymentStrategy":                 {"type": "RollingUpdate"},
	"apps.v1.StatefulSetSpec":                    {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"},
	"apps.v1.StatefulSetUpdateStrategy":          {"type": "RollingUpdate"},
	"apps.v1.DaemonSetSpec":                      {"revisionHistoryLimit": 10},
	"apps.v1.DaemonSetUpdateStrategy":            {"type": "RollingUpdate"},
	"apps.v1.ReplicaSetSpec":                     {"replicas": 1},
	"batch.v1.JobSpec":                           {"backoffLimit": 6, "completionMode": "NonIndexed"},
	"batch.v1.CronJobSpec":                       {"concurrencyPolicy": "Allow", "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
	"autoscaling.v2.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
	"storage.v1.StorageClass":                    {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}

// TestApplyJSON compares apply.json with the schemas of Kubernetes. With the flag
// -update it writes the file.
func TestApplyJSON(t *testing.T) {
	scheme := runtime.NewScheme()
	e2e.NoError(t, kubernetesTypes.AddToScheme(scheme))
	e2e.NoError(t, corev1.AddToScheme(scheme))
	w := applyWriter{t, applySchema(t), map[string]map[string]string{}}
	for gvk, goType := range scheme.AllKnownTypes() {
		if f, ok := goType.FieldByName("ObjectMeta"); !ok || f.Type != reflect.TypeFor[metav1.ObjectMeta]() {
			continue
		}
		name := apiPrefix + schema.ApplyName(gvk)
		if _, known := w.schema.FindNamedType(name); known {
			w.ref(smd.TypeRef{NamedType: &name})
		}
	}
	for name, fields := range setInGo {
		for field, value := range fields {
			full := apiPrefix + name
			atom, _ := w.schema.Resolve(smd.TypeRef{NamedType: &full})
			if atom.Map == nil || !slices.ContainsFunc(atom.Fields, func(f smd.StructField) bool { return f.Name == field && f.Default == nil }) {
				t.Errorf("type %s has no field %s without a default", name, field)
				continue
			}
			w.types[name][field] = defaultText(t, value)
		}
	}
	compareFile(t, "apply.json", w.types)
}

// applySchema reads the schemas of Kubernetes from the source of client-go. The package that returns
// them imports all kinds and a client: a hundred packages would be compiled for this test.
func applySchema(t *testing.T) *smd.Schema {
	t.Helper()
	source := e2e.ReadFile(t, filepath.Join(sources(t, "k8s.io/client-go/applyconfigurations/internal")[0], "internal.go"))
	_, text, _ := strings.Cut(source, "typed.YAMLObject(`")
	text, _, ok := strings.Cut(text, "`)")
	if !ok {
		t.Fatal("the source of client-go has no schemas")
	}
	parser := e2e.Must(typed.NewParser(typed.YAMLObject(text)))(t)
	return &parser.Schema
}

const (
	apiPrefix  = "io.k8s.api."
	metaPrefix = "io.k8s.apimachinery.pkg.apis."
)

// An applyWriter collects types in the form of apply.json.
type applyWriter struct {
	*testing.T
	schema *smd.Schema
	types  map[string]map[string]string
}

// ref returns a reference as apply.json has it, and adds the type that it names.
func (w applyWriter) ref(r smd.TypeRef) string {
	if r.NamedType != nil && strings.HasPrefix(*r.NamedType, "__untyped_") {
		return map[string]string{"__untyped_deduced_": "*", "__untyped_atomic_": "!*"}[*r.NamedType]
	}
	if r.NamedType != nil && *r.NamedType == "io.k8s.apimachinery.pkg.api.resource.Quantity" {
		return "quantity"
	}
	atom, ok := w.schema.Resolve(r)
	switch {
	case !ok:
		w.Fatalf("no type for %v", r)
	case atom.List != nil && atom.Map != nil: // any value, such as a RawExtension
		return "!*"
	case atom.List != nil && atom.List.ElementRelationship == smd.Associative && len(atom.Keys) == 0:
		return "[set]" + w.ref(atom.List.ElementType)
	case atom.List != nil:
		return "[" + strings.Join(atom.Keys, ",") + "]" + w.ref(atom.List.ElementType)
	case atom.Map == nil:
		return ""
	}
	prefix := ""
	if atom.Map.ElementRelationship == smd.Atomic {
		prefix = "!"
	}
	if r.NamedType == nil || len(atom.Fields) == 0 {
		return prefix + "{}" + w.ref(atom.Map.ElementType)
	}
	name := strings.TrimPrefix(strings.TrimPrefix(*r.NamedType, apiPrefix), metaPrefix)
	if w.types[name] == nil {
		w.types[name] = map[string]string{}
		for _, f := range atom.Fields {
			// A field that is not in the table may have any value, such as a scalar.
			if text := w.ref(f.Type) + defaultText(w.T, f.Default); text != "" {
				w.types[name][f.Name] = text
			}
		}
	}
	return prefix + name
}

// defaultText returns a default as apply.json has it. The API server omits empty values.
func defaultText(t *testing.T, value any) string {
	switch value {
	case nil, "", 0, false:
		return ""
	}
	if m, ok := value.(map[any]any); ok && len(m) == 0 {
		return ""
	}
	text := e2e.Must(json.Marshal(value))(t)
	return "=" + string(text)
}
