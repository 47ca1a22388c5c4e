package schema_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

var update = flag.Bool("update", false, "write kubernetes.json, apply.json and the files in the folder crossplane again")

// kubernetesTypes registers the API groups whose kinds kubernetes.json describes.
var kubernetesTypes = runtime.NewSchemeBuilder(
	admissionregistrationv1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme,
	batchv1.AddToScheme, certificatesv1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme,
	eventsv1.AddToScheme, flowcontrolv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme,
	policyv1.AddToScheme, rbacv1.AddToScheme, resourcev1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
)

// TestKubernetes compares kubernetes.json with the Go types of Kubernetes. With
// the flag -update it writes the file.
func TestKubernetes(t *testing.T) {
	scheme := runtime.NewScheme()
	e2e.NoError(t, kubernetesTypes.AddToScheme(scheme))
	d := description{Kinds: map[string]string{}, Types: map[string]string{}}
	for gvk, goType := range scheme.AllKnownTypes() {
		if f, ok := goType.FieldByName("ObjectMeta"); !ok || f.Type != reflect.TypeFor[metav1.ObjectMeta]() {
			continue
		}
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		d.Kinds[apiVersion+" "+kind] = d.name(goType)
		if k, ok := schema.FindKind(gvk); !ok {
			t.Errorf("%s is unknown", gvk)
		} else {
			e2e.Equal(t, fmt.Sprintf("%s has the schema of an object", gvk), schema.Object, k.Root().Types())
		}
	}
	compareFile(t, "kubernetes.json", d)
}

// compareFile compares an embedded file with v in JSON. With the flag -update it writes the
// file.
func compareFile(t *testing.T, file string, v any) {
	t.Helper()
	var want bytes.Buffer
	e2e.NoError(t, manifest.WriteJSON(&want, " ", v))
	if *update {
		e2e.NoError(t, os.WriteFile(file, want.Bytes(), 0o600))
	}
	got := []byte(e2e.ReadFile(t, file))
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s does not describe the types of Kubernetes; run the test with -update", file)
	}
}

type description struct {
	Kinds map[string]string `json:"kinds"`
	Types map[string]string `json:"types"`
}

// name returns the name by which kubernetes.json refers to a Go type. If the
// type belongs to one of kubernetesTypes, name also describes its fields.
func (d description) name(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return d.name(t.Elem())
	case reflect.Slice:
		return "[]" + d.name(t.Elem())
	case reflect.Map:
		return "{}" + d.name(t.Elem())
	case reflect.Struct:
	default:
		return t.Kind().String()
	}
	group, ok := strings.CutPrefix(t.PkgPath(), "k8s.io/api/")
	if !ok || group == "core/v1" {
		return t.String()
	}
	name := group + "." + t.Name()
	if d.Types[name] == "" {
		d.Types[name] = "?" // A type that refers to itself is not described twice.
		fields := map[string]string{}
		d.fields(t, fields)
		var all []string
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			all = append(all, field+":"+fields[field])
		}
		d.Types[name] = strings.Join(all, " ")
	}
	return name
}

func (d description) fields(t reflect.Type, into map[string]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.Contains(options, "inline") || name == "" && f.Anonymous {
			d.fields(f.Type, into)
		} else {
			into[name] = d.name(f.Type)
		}
	}
}
