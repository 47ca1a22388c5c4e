package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// unknownEnum returns an error for the first field in value, the JSON of a message at the path
// field, that is not a value of its enumeration. The error names the most similar value.
func unknownEnum(message protoreflect.MessageDescriptor, value any, field string) error {
	obj := fieldpath.Map(value)
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		fd := message.Fields().ByJSONName(key)
		if fd == nil {
			fd = message.Fields().ByName(protoreflect.Name(key))
		}
		if fd == nil {
			continue
		}
		all := valuesOf(fd, obj[key], field+"."+key)
		for _, at := range slices.Sorted(maps.Keys(all)) {
			if err := enumFault(fd, all[at], at); err != nil {
				return err
			}
		}
	}
	return nil
}

// enumFault is like unknownEnum, for one value of a field.
func enumFault(fd protoreflect.FieldDescriptor, value any, field string) error {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	switch {
	case fd.Message() != nil && fd.Message().ParentFile().Package() != "google.protobuf":
		return unknownEnum(fd.Message(), value, field)
	case fd.Enum() == nil:
		return nil
	}
	name, ok := value.(string)
	if !ok || fd.Enum().Values().ByName(protoreflect.Name(name)) != nil {
		return nil
	}
	names := make([]string, fd.Enum().Values().Len())
	for i := range names {
		names[i] = string(fd.Enum().Values().Get(i).Name())
	}
	near := hint.Nearest(name, names)
	for _, full := range names { // The names of protobuf begin with that of the enumeration.
		if strings.HasSuffix(full, "_"+strings.ToUpper(name)) {
			near = full
		}
	}
	return fmt.Errorf("%s is %q, expected one of %s%s", field, name, strings.Join(names, ", "), hint.DidYouMean(near))
}

// valuesOf returns the values of a field by their paths: those of a list or map, or the value.
func valuesOf(fd protoreflect.FieldDescriptor, value any, field string) map[string]any {
	all := map[string]any{}
	switch value := value.(type) {
	case []any:
		for i, v := range value {
			all[fmt.Sprintf("%s[%d]", field, i)] = v
		}
	case map[string]any:
		if !fd.IsMap() {
			return map[string]any{field: value}
		}
		for key, v := range value {
			all[field+"."+key] = v
		}
	default:
		all[field] = value
	}
	return all
}

// literal returns a Runner that always returns response. Desired state and
// context are copied from the request first; response is merged into them.
func literal(response map[string]any) (function.Runner, error) {
	text, err := json.Marshal(response)
	if err != nil {
		return nil, fmt.Errorf("encoding the response: %w", err)
	}
	answer := &fnv1.RunFunctionResponse{}
	if err := protojson.Unmarshal(text, answer); err != nil {
		if err := unknownEnum(answer.ProtoReflect().Descriptor(), response, "response"); err != nil {
			return nil, err
		}
		_, reason, _ := strings.Cut(strings.ReplaceAll(err.Error(), "\u00a0", " "), ": ")
		return nil, fmt.Errorf("response: invalid RunFunctionResponse: %s", cmp.Or(reason, err.Error()))
	}
	return function.RunnerFunc(func(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp := &fnv1.RunFunctionResponse{
			Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()},
			Desired: proto.CloneOf(req.GetDesired()),
			Context: proto.CloneOf(req.GetContext()),
		}
		proto.Merge(rsp, answer)
		return rsp, nil
	}), nil
}
