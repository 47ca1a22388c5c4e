package builtin

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// tags are the tags of a resource. The values are strings. The real function writes null for
// nil tags, and an empty object for empty tags.
type tags map[string]*structpb.Value

// add sets the tags of from. If retain is true, only those that t lacks, or that are empty in t.
func (t *tags) add(from tags, retain bool) {
	if *t == nil && from != nil {
		*t = make(tags, len(from))
	}
	for key, value := range from {
		if !retain || (*t)[key].GetStringValue() == "" {
			(*t)[key] = value
		}
	}
}

// tagUpdates are the tags of all entries by policy.
type tagUpdates struct{ retain, replace tags }

// add adds the tags of one entry. The first entry with a key has precedence.
func (u *tagUpdates) add(from tags, retains bool) {
	of := &u.replace
	if retains {
		of = &u.retain
	}
	of.add(from, true)
}

func (u *tagUpdates) apply(to *tags) {
	to.add(u.retain, true)
	to.add(u.replace, false)
}

// toTags converts an object to tags. If the value of a tag is not a string, it becomes
// "", and allStrings is false. If v is not an object, the result has no tags.
func toTags(v *structpb.Value) (t tags, allStrings bool) {
	object, ok := v.GetKind().(*structpb.Value_StructValue)
	if !ok {
		return nil, false
	}
	t, allStrings = make(tags, len(object.StructValue.GetFields())), true
	for key, value := range object.StructValue.GetFields() {
		if _, ok := value.GetKind().(*structpb.Value_StringValue); !ok {
			value, allStrings = structpb.NewStringValue(""), false
		}
		t[key] = value
	}
	return t, allStrings
}

// tagsOf converts the tags in an input. nil tags remain nil.
func tagsOf(texts map[string]string) tags {
	if texts == nil {
		return nil
	}
	t := make(tags, len(texts))
	for key, text := range texts {
		t[key] = structpb.NewStringValue(text)
	}
	return t
}

// toTagKeys converts a list to keys. A key that is not a string becomes "", and allStrings is
// false. If v is not a list, the result has no keys.
func toTagKeys(v *structpb.Value) (keys []string, allStrings bool) {
	list, ok := v.GetKind().(*structpb.Value_ListValue)
	if !ok {
		return nil, false
	}
	keys, allStrings = make([]string, len(list.ListValue.GetValues())), true
	for i, element := range list.ListValue.GetValues() {
		keys[i] = element.GetStringValue()
		_, ok := element.GetKind().(*structpb.Value_StringValue)
		allStrings = allStrings && ok
	}
	return keys, allStrings
}

// withTags returns a copy of an object with tags in spec.forProvider. It returns the same
// object if spec or forProvider is not an object.
func withTags(object *structpb.Struct, t tags) *structpb.Struct {
	value := structpb.NewNullValue()
	if t != nil {
		value = structpb.NewStructValue(&structpb.Struct{Fields: t})
	}
	return setWithin(object, value, "spec", "forProvider", "tags")
}

// setWithin returns a copy of an object with a value at a path of keys. It creates missing
// objects. It returns the same object if a value on the path is not an object.
func setWithin(object *structpb.Struct, value *structpb.Value, keys ...string) *structpb.Struct {
	if len(keys) > 1 {
		old, exists := object.GetFields()[keys[0]]
		child := old.GetStructValue()
		if exists && child == nil {
			return object
		}
		changed := setWithin(child, value, keys[1:]...)
		if changed == child {
			return object
		}
		value = structpb.NewStructValue(changed)
	}
	return sdk.With(object, map[string]*structpb.Value{keys[0]: value})
}
