package builtin

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// A requirer is a function that requires resources and writes them to the context. T is the type
// of its input.
type requirer[T any] struct {
	protocol sdk.Protocol
	inputs   sdk.Inputs[T]
	// sources returns the sources in an input, and the path of their list.
	sources func(in *T) (list string, all []source)
	// idle reports whether an input requires nothing, not even an empty list of requirements.
	idle func(in *T) bool
	// fault is the beginning of errors about sources.
	fault string
	// write returns the key in the context and its value. found has the required resources by
	// the keys of their sources.
	write func(req *fnv1.RunFunctionRequest, in *T, found map[string]*fnv1.Resources) (key string, value *structpb.Struct, err error)
}

// A source is an element of an input that selects required resources.
type source struct {
	sdk.Source
	// selector is the selector of a source of type Selector.
	selector *sdk.Selector
	// key is the key of the requirement. kind has the kind and the namespace of the resources.
	key  string
	kind *fnv1.ResourceSelector
}

func (f *requirer[T]) run(_ context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	if err := f.require(req, rsp); err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	return rsp, nil
}

func (f *requirer[T]) require(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) error {
	in, err := f.inputs.Of(req)
	if err != nil || f.idle(in) {
		return err
	}
	list, sources := f.sources(in)
	xr := sync.OnceValue(req.GetObserved().GetComposite().GetResource().AsMap)
	selectors := map[string]*fnv1.ResourceSelector{}
	for i, s := range sources {
		matches, err := s.Matches(fmt.Sprintf("%s[%d]", list, i), s.selector, s.kind, xr)
		if err != nil {
			return fmt.Errorf("%s: %w", f.fault, err)
		}
		if matches {
			selectors[s.key] = s.kind
		}
	}
	f.protocol.Require(rsp, selectors)
	found := f.protocol.Resources(req)
	if len(found) == 0 {
		return nil
	}
	key, value, err := f.write(req, in, found)
	if err == nil {
		rsp.Context = sdk.With(req.GetContext(), map[string]*structpb.Value{key: structpb.NewStructValue(value)})
	}
	return err
}

// only returns items. It returns an error if there are several items, or if there is no item and
// the policy does not allow that. what and name describe the missing resource in the error, and
// noun and name the resource of which there are several.
func only(items []*fnv1.Resource, policy sdk.Policy, what, noun, name string) ([]*fnv1.Resource, error) {
	switch n := len(items); {
	case n == 0 && !policy.Optional():
		return nil, fmt.Errorf("%s %s %q not found", sdk.MustExist, what, name)
	case n > 1:
		return nil, fmt.Errorf("expected exactly one %s resource %q, got %d", noun, name, n)
	}
	return items, nil
}

// kindName returns the name of a type in the messages of newer versions.
func kindName(t reflect.Type) string { return t.Kind().String() }
