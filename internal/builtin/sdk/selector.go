package sdk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// The types of sources of a function that requires resources. An empty type is ByReference. A
// source of any other type requires nothing.
const (
	ByReference = "Reference"
	BySelector  = "Selector"
)

// SourceValues returns the valid types of the sources in a list of an input, and of the labels of
// their selectors, by the paths of the types. Matches ignores sources and labels of any other
// type.
func SourceValues(list string) map[string][]string {
	return map[string][]string{
		list + "[].type":                        {ByReference, BySelector},
		list + "[].selector.matchLabels[].type": {"FromCompositeFieldPath", "Value"},
	}
}

// SourceReads returns the fields with a path in the composite resource of the sources in a list of an
// input.
func SourceReads(list string) []string {
	return []string{list + "[].selector.matchLabels[].valueFromFieldPath"}
}

// A Source selects one resource by its name, or several by the selector of the struct in which it
// is embedded.
type Source struct {
	// Type is Reference, the default, or Selector. A source of any other type is ignored.
	Type string `json:"type,omitempty"`
	// Ref is required for type Reference.
	Ref *Reference `json:"ref,omitempty"`
}

// A Reference selects one resource.
type Reference struct {
	// Name is the name of the resource.
	Name string `json:"name"`
}

// A Policy decides what happens if a required resource does not exist.
type Policy struct {
	// Resolution is Optional to ignore references to resources that do not exist.
	Resolution string `json:"resolution"`
}

// Optional reports whether references to resources that do not exist are ignored.
func (p Policy) Optional() bool { return p.Resolution == optional }

const optional = "Optional"

// MustExist is the default Resolution. Errors about resources that do not exist begin with it.
const MustExist = "Required"

// A Selector selects the resources that have all of its labels.
type Selector struct {
	// MinMatch is the minimum number of resources. MaxMatch is the number of resources that
	// are used, in the order of SortByFieldPath, which is metadata.name by default.
	MinMatch        *uint64        `json:"minMatch"`
	MaxMatch        *uint64        `json:"maxMatch"`
	SortByFieldPath string         `json:"sortByFieldPath"`
	MatchLabels     []LabelMatcher `json:"matchLabels"`
}

// A LabelMatcher is a label of a Selector.
type LabelMatcher struct {
	// Type is Value or, by default, FromCompositeFieldPath. A label of any other type is ignored.
	Type string `json:"type"`
	// Key is the key of the label. Of several labels with the same key, the last is used.
	Key string `json:"key"`
	// Value is the value of the label for type Value.
	Value *string `json:"value"`
	// ValueFromFieldPath is the path of the value in the composite resource for type
	// FromCompositeFieldPath. FromFieldPathPolicy is Optional to leave out the label if the
	// value cannot be read.
	ValueFromFieldPath  *string `json:"valueFromFieldPath"`
	FromFieldPathPolicy string  `json:"fromFieldPathPolicy"`
}

// Matches sets the criterion of a source in a requirement. It returns false if the source requires
// nothing: if its type is unknown, or if its selector has no labels. field is the path of the
// source in the input, for errors. xr returns the observed composite resource.
func (src Source) Matches(field string, s *Selector, in *fnv1.ResourceSelector, xr func() map[string]any) (bool, error) {
	switch src.Type {
	case ByReference, "":
		if src.Ref == nil {
			return false, fmt.Errorf("%s.ref must be set for type %s", field, ByReference)
		}
		in.Match = &fnv1.ResourceSelector_MatchName{MatchName: src.Ref.Name}
		return true, nil
	case BySelector:
		if s == nil {
			return false, fmt.Errorf("%s.selector must be set for type %s", field, BySelector)
		}
		labels, err := s.labels(xr)
		in.Match = &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: labels}}
		return err == nil && len(labels) > 0, err
	}
	return false, nil
}

// FieldOf returns the field of an input to which an error of Matches refers, or "". fatal is the message
// of the fatal result with the error. The input is in JSON, and its field spec has the sources in a list.
func FieldOf(fatal, list string, input []byte) string {
	if before, _, ok := strings.Cut(fatal, " must be set for type "); ok {
		return before[strings.LastIndex(before, " ")+1:]
	}
	var in struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	var sources []struct {
		Selector Selector `json:"selector"`
	}
	if json.Unmarshal(input, &in) != nil || json.Unmarshal(in.Spec[list], &sources) != nil {
		return ""
	}
	for i, src := range sources {
		for j, l := range src.Selector.MatchLabels {
			at, lacks := fmt.Sprintf("spec.%s[%d].selector.matchLabels[%d]", list, i, j), l.ValueFromFieldPath == nil
			switch {
			case l.Type == "Value" && l.Value == nil && strings.HasSuffix(fatal, unset("Value", "Value").Error()),
				l.Type != "Value" && lacks && strings.HasSuffix(fatal, unset("ValueFromFieldPath", fromComposite).Error()):
				return at
			case l.Type != "Value" && !lacks && l.FromFieldPathPolicy != optional && strings.Contains(fatal, fmt.Sprintf("cannot get value from field path %q: ", *l.ValueFromFieldPath)):
				return at + ".valueFromFieldPath"
			}
		}
	}
	return ""
}

func (s *Selector) labels(xr func() map[string]any) (map[string]string, error) {
	labels := map[string]string{}
	for _, l := range s.MatchLabels {
		switch l.Type {
		case "Value":
			if l.Value == nil {
				return nil, unset("Value", "Value")
			}
			labels[l.Key] = *l.Value
		case fromComposite, "":
			if l.ValueFromFieldPath == nil {
				return nil, unset("ValueFromFieldPath", fromComposite)
			}
			value, err := text(*l.ValueFromFieldPath, xr())
			switch {
			case err == nil:
				labels[l.Key] = value
			case l.FromFieldPathPolicy != optional:
				return nil, fmt.Errorf("cannot get value from field path %q: %w", *l.ValueFromFieldPath, err)
			}
		}
	}
	return labels, nil
}

// fromComposite is the type of a label whose value is in the composite resource.
const fromComposite = "FromCompositeFieldPath"

// unset returns the error of function-extra-resources for a label without a value.
func unset(field, labelType string) error {
	return fmt.Errorf("%s cannot be nil for type '%s'", field, labelType)
}

// text returns the string at a path in an object. It is an error if the field is missing or has
// another type.
func text(path string, object map[string]any) (string, error) {
	p, err := fieldpath.Parse(path)
	if err != nil {
		return "", err
	}
	v, err := p.Get(object)
	if err != nil {
		return "", err
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s: not a string", path)
	}
	return s, nil
}

// Pick sorts items and returns the first s.MaxMatch of them. typeName is the name of a type in
// the error about values that cannot be sorted.
func (s *Selector) Pick(items []*fnv1.Resource, typeName func(reflect.Type) string) ([]*fnv1.Resource, error) {
	path := cmp.Or(s.SortByFieldPath, "metadata.name")
	if err := sortBy(path, items, typeName); err != nil {
		return nil, err
	}
	if s.MaxMatch != nil && *s.MaxMatch < uint64(len(items)) {
		items = items[:*s.MaxMatch]
	}
	return items, nil
}

// sortBy sorts items by their values at a path: all numbers or all strings. A value that does not
// exist is 0 or "". Like the real functions, it uses sort.Slice, which keeps the order of equal
// values only for up to 12 items.
func sortBy(path string, items []*fnv1.Resource, typeName func(reflect.Type) string) error {
	type item struct {
		resource *fnv1.Resource
		value    any
	}
	p, err := fieldpath.Parse(path)
	if err != nil && len(items) > 0 {
		return err
	}
	all := make([]item, len(items))
	var t reflect.Type
	for i, r := range items {
		v, err := valueAt(p, r.GetResource())
		if err != nil {
			return err
		}
		all[i] = item{r, v}
		switch {
		case v == nil || reflect.TypeOf(v) == t:
		case t == nil:
			t = reflect.TypeOf(v)
		default:
			return fmt.Errorf("cannot sort values of different types %q and %q", t, reflect.TypeOf(v))
		}
	}
	switch {
	case t == nil:
		return nil
	case t == reflect.TypeFor[float64]():
		sort.Slice(all, func(i, j int) bool { return as[float64](all[i].value) < as[float64](all[j].value) })
	case t == reflect.TypeFor[string]():
		sort.Slice(all, func(i, j int) bool { return as[string](all[i].value) < as[string](all[j].value) })
	case len(items) > 1:
		return fmt.Errorf("unsupported type %q for sorting", typeName(t))
	}
	for i := range all {
		items[i] = all[i].resource
	}
	return nil
}

func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

// valueAt returns the value at a path of an object, or nil if it does not exist. It converts only
// the top-level field of the path.
func valueAt(p fieldpath.Path, object *structpb.Struct) (any, error) {
	top := map[string]any{}
	if v, ok := object.GetFields()[p[0].Key]; ok {
		top[p[0].Key] = v.AsInterface()
	}
	v, err := p.Get(top)
	if fieldpath.IsNotFound(err) {
		return nil, nil
	}
	return v, err
}

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
