package builtin_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestAutoReadyEveryFieldHasToFit changes the type of one field of a ready object, for each of its
// fields. If Kubernetes cannot decode the object, it must not be ready.
func TestAutoReadyEveryFieldHasToFit(t *testing.T) {
	for text, kind := range map[string]any{
		readyPod: corev1.Pod{}, boundClaim: corev1.PersistentVolumeClaim{}, replicaSetReady: appsv1.ReplicaSet{},
		jobDone: batchv1.Job{}, cronJobReady: batchv1.CronJob{}, autoscalerReady: autoscalingv2.HorizontalPodAutoscaler{},
	} {
		t.Run(reflect.TypeOf(kind).Name(), func(t *testing.T) {
			refused := 0
			for _, field := range autoReadyShape(reflect.TypeOf(kind), "") {
				path, _, _ := strings.Cut(strings.TrimPrefix(field, "."), " ")
				obj := object(t, text).AsMap()
				if path == "apiVersion" || path == "kind" || !autoReadySpoil(obj, strings.Split(path, ".")) {
					continue
				}
				if runtime.DefaultUnstructuredConverter.FromUnstructured(obj, reflect.New(reflect.TypeOf(kind)).Interface()) == nil {
					continue
				}
				refused++
				spoilt := e2e.Must(structpb.NewStruct(obj))(t)
				if isReady(t, spoilt) {
					t.Errorf("ready although the type of %s is wrong", field)
				}
			}
			if refused < 50 {
				t.Errorf("only %d fields were rejected", refused)
			}
		})
	}
}

// autoReadySpoil replaces the value at a path from function shape by a list with a
// boolean, which almost no field accepts. It reports whether it replaced a value.
func autoReadySpoil(obj map[string]any, path []string) bool {
	for i, key := range path {
		name, container, _ := strings.Cut(key, "[")
		if i == len(path)-1 {
			obj[name] = autoReadyWrap([]any{true}, container)
			return true
		}
		inner := map[string]any{}
		if container == "" {
			if there, ok := obj[name].(map[string]any); ok {
				obj = there
				continue
			}
		}
		obj[name] = autoReadyWrap(inner, container)
		obj = inner
	}
	return false
}

// autoReadyWrap puts a value into lists and maps. containers lists them in the format of
// function shape, such as "slice][map]".
func autoReadyWrap(value any, containers string) any {
	switch {
	case strings.HasSuffix(containers, "slice]"):
		return autoReadyWrap([]any{value}, strings.TrimSuffix(strings.TrimSuffix(containers, "slice]"), "["))
	case strings.HasSuffix(containers, "map]"):
		return autoReadyWrap(map[string]any{"key": value}, strings.TrimSuffix(strings.TrimSuffix(containers, "map]"), "["))
	default:
		return value
	}
}

// autoReadyShape lists the fields of a type as "path kind". It omits pointers, because
// they do not change which values are valid.
func autoReadyShape(t reflect.Type, path string) []string {
	if t.Kind() == reflect.Pointer {
		return autoReadyShape(t.Elem(), path)
	}
	if _, ok := reflect.PointerTo(t).MethodByName("UnmarshalJSON"); ok {
		return []string{path + " " + t.String()}
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return autoReadyShape(t.Elem(), fmt.Sprintf("%s[%s]", path, t.Kind()))
	case reflect.Struct:
		var lines []string
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" {
				name = "." + name
			} else if !f.Anonymous {
				name = "." + f.Name
			}
			lines = append(lines, autoReadyShape(f.Type, path+name)...)
		}
		return lines
	default:
		return []string{path + " " + t.Kind().String()}
	}
}
