package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	kinds "github.com/xfn-dev/xfn/internal/schema"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// FuzzDecode checks that Decode returns a fault if and only if the API server's
// decoder rejects the document.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}}}}`,
		`{"spec": {"replicas": "1"}}`, `{"spec": {"replicas": 1e3}}`, `{"spec": {"replicas": 3000000000}}`, `{"spec": []}`, `{"spec": {"x": 1}}`,
		`{"metadata": {"labels": {"a": 1}}}`, `{"metadata": {"creationTimestamp": "2026-01-02T03:04:05Z", "managedFields": [{"fieldsV1": {"f:a": {}}}]}}`,
		`{"data": {"a": "YQ=="}, "stringData": {"b": "c"}, "immutable": null}`, `{"data": {"a": "!"}}`, `{"data": {"a": [1, 2]}}`,
		`{"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"completions": -1}}}}`, `{"spec": {"jobTemplate": {"spec": {"backoffLimit": 1.0}}}}`,
		`{"spec": {"versions": [{"schema": {"openAPIV3Schema": {"items": {"x": 1}, "additionalProperties": true, "default": {"a": 1}}}}]}}`,
		`{"spec": {"versions": [{"schema": {"openAPIV3Schema": {"items": 1, "enum": [1], "maxLength": "a"}}}]}}`,
	} {
		for n := range byte(5) {
			f.Add(n, []byte(text))
		}
	}
	types := []reflect.Type{
		reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[corev1.ConfigMap](),
		reflect.TypeFor[batchv1.CronJob](), reflect.TypeFor[extv1.CustomResourceDefinition](),
	}
	kindOf := map[reflect.Type]schema.GroupVersionKind{
		types[0]: appsv1.SchemeGroupVersion.WithKind("Deployment"), types[1]: corev1.SchemeGroupVersion.WithKind("Secret"),
		types[2]: corev1.SchemeGroupVersion.WithKind("ConfigMap"), types[3]: batchv1.SchemeGroupVersion.WithKind("CronJob"),
		types[4]: extv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"),
	}
	f.Fuzz(func(t *testing.T, n byte, data []byte) {
		var obj map[string]any
		strict, err := kjson.UnmarshalStrict(data, &obj)
		if err != nil || len(strict) > 0 || obj == nil {
			return
		}
		// The API server's decoder gets the values that Decode got, encoded again.
		if data, err = json.Marshal(obj); err != nil {
			t.Fatal(err)
		}
		into := types[int(n)%len(types)]
		strict, err = kjson.UnmarshalStrict(data, reflect.New(into).Interface())
		found := kinds.DecodeKind(nil, obj, into)
		if kind, ok := kinds.FindKind(kindOf[into]); !ok || len(kind.Decode(obj)) != len(found) {
			t.Errorf("%s: for %s DecodeKind returns %v, Kind.Decode %v", into, data, found, kind.Decode(obj))
		}
		if refused := err != nil || len(strict) > 0; refused != (len(found) > 0) {
			t.Errorf("%s: for %s the library returns %v %v, DecodeKind %v", into, data, err, strict, found)
		}
	})
}

func TestNearestField(t *testing.T) {
	cases := map[string]struct{ reason, path, want string }{
		"Root":     {"a field of the type itself is found", "sepc", "spec"},
		"Inline":   {"a field of an embedded struct is found", "apiVersoin", "apiVersion"},
		"Nested":   {"pointers and lists are passed", "spec.template.spec.containers[0].imgae", "image"},
		"Map":      {"the values of a map without fields have no names", "metadata.labels.x", ""},
		"Scalar":   {"a scalar has no fields", "spec.replicas.x", ""},
		"Unknown":  {"a field of an unknown field has no similar name", "spce.replicas", ""},
		"Distinct": {"a name that is similar to no other has no suggestion", "spec.quantity", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, kinds.NearestField(reflect.TypeFor[appsv1.Deployment](), tc.path))
		})
	}
}
