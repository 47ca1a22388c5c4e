package sdk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// ResponseFault returns the path of the first field in response, the JSON of a RunFunctionResponse, that
// the message does not have, or whose value has another type or is not in its enumeration. text says what
// is wrong with it, and names what is similar. Both are "" if there is no such field.
func ResponseFault(response any) (at, text string) {
	return messageFault((*fnv1.RunFunctionResponse)(nil).ProtoReflect().Descriptor(), response, "response")
}

func messageFault(message protoreflect.MessageDescriptor, value any, field string) (at, text string) {
	obj := fieldpath.Map(value)
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		fd := message.Fields().ByJSONName(key)
		if fd == nil {
			fd = message.Fields().ByName(protoreflect.Name(key))
		}
		if fd == nil {
			return field + "." + key, "does not exist" + hint.DidYouMean(hint.Nearest(key, fieldNames(message)))
		}
		want := ""
		switch {
		case fd.IsList():
			want = "a list"
		case fd.IsMap(), isMessage(fd):
			want = "an object"
		}
		if got := manifest.DescribeValue(obj[key]); want != "" && obj[key] != nil && got != want {
			return field + "." + key, "must be " + want + ", not " + got
		}
		all := valuesOf(fd, obj[key], field+"."+key)
		for _, path := range slices.Sorted(maps.Keys(all)) {
			if at, text = fieldFault(fd, all[path], path); text != "" {
				return at, text
			}
		}
	}
	return "", ""
}

func fieldNames(message protoreflect.MessageDescriptor) []string {
	names := make([]string, message.Fields().Len())
	for i := range names {
		names[i] = message.Fields().Get(i).JSONName()
	}
	return names
}

// isMessage reports whether the values of a field are messages, and not values of any type.
func isMessage(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && fd.Message().ParentFile().Package() != "google.protobuf"
}

// fieldFault is like messageFault, for one value of a field.
func fieldFault(fd protoreflect.FieldDescriptor, value any, field string) (at, text string) {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	switch {
	case isMessage(fd):
		if got := manifest.DescribeValue(value); got != "an object" {
			return field, "must be an object, not " + got
		}
		return messageFault(fd.Message(), value, field)
	case fd.Kind() == protoreflect.StringKind && value != nil:
		if _, ok := value.(string); !ok {
			return field, "must be a string"
		}
		return "", ""
	case fd.Enum() == nil:
		return "", ""
	}
	name, ok := value.(string)
	if !ok || fd.Enum().Values().ByName(protoreflect.Name(name)) != nil {
		return "", ""
	}
	names := make([]string, fd.Enum().Values().Len())
	for i := range names {
		names[i] = string(fd.Enum().Values().Get(i).Name())
	}
	near := hint.Nearest(name, names)
	for _, full := range names { // In protobuf, the names of the values begin with the name of the enumeration.
		if strings.HasSuffix(full, "_"+strings.ToUpper(name)) {
			near = full
		}
	}
	return field, fmt.Sprintf("is %q, expected one of %s", name, strings.Join(names, ", ")) + hint.DidYouMean(near)
}

// valuesOf returns the values of a field by their paths: the elements of a list or map, or the
// single value.
func valuesOf(fd protoreflect.FieldDescriptor, value any, field string) map[string]any {
	all := map[string]any{}
	switch {
	case fd.IsList() && value != nil:
		for i, v := range fieldpath.List(value) {
			all[fmt.Sprintf("%s[%d]", field, i)] = v
		}
	case fd.IsMap() && value != nil:
		for key, v := range fieldpath.Map(value) {
			all[field+"."+key] = v
		}
	default:
		all[field] = value
	}
	return all
}
