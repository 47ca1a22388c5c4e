package sdk

import (
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The keys in the context of the environment, which has the data of EnvironmentConfigs, and of the
// resources that functions require.
const (
	EnvironmentKey = "apiextensions.crossplane.io/environment"
	ExtraKey       = "apiextensions.crossplane.io/extra-resources"
)

// A Protocol is the pair of fields by which a function requires and gets resources.
type Protocol int

const (
	// Required are the fields resources and required_resources, of Crossplane v2.
	Required Protocol = iota
	// Extra are the fields extra_resources, which Crossplane v1.15 and later have.
	Extra
)

// Require sets the requirements of a response to the resources that selectors select, by key.
func (p Protocol) Require(rsp *fnv1.RunFunctionResponse, selectors map[string]*fnv1.ResourceSelector) {
	rsp.Requirements = &fnv1.Requirements{}
	if p == Required {
		rsp.Requirements.Resources = selectors
		return
	}
	m := rsp.GetRequirements().ProtoReflect()
	for key, s := range selectors {
		m.Mutable(ExtraField(m)).Map().Set(protoreflect.ValueOfString(key).MapKey(), protoreflect.ValueOfMessage(s.ProtoReflect()))
	}
}

// Resources returns the required resources in a request, by key. An empty map is the same as nil,
// because gRPC does not distinguish them.
func (p Protocol) Resources(req *fnv1.RunFunctionRequest) map[string]*fnv1.Resources {
	if p == Required {
		return req.GetRequiredResources()
	}
	all := map[string]*fnv1.Resources{}
	m := req.ProtoReflect()
	m.Get(ExtraField(m)).Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
		all[key.String()], _ = v.Message().Interface().(*fnv1.Resources)
		return true
	})
	return all
}

// ExtraField returns the field extra_resources of a request or of requirements. It is read by
// name, because its accessor is deprecated.
func ExtraField(m protoreflect.Message) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName("extra_resources")
}
