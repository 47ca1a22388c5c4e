package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

func tagManager() Builtin {
	return Builtin{
		Name: "function-tag-manager", Measured: tagManagerMeasured, From: "v0.3.0", Below: "v0.10.0",
		Input:   inputOf[ManagedTags]("tag-manager.fn.crossplane.io/v1beta1 ManagedTags", composition.Input{Values: tagManagerValues, Reads: []string{"addTags[].fromFieldPath", "ignoreTags[].fromFieldPath", "removeTags[].fromFieldPath"}}),
		Covered: "`addTags`, `ignoreTags` and `removeTags` with every `type` and `policy`, for 1,666 kinds of AWS and Azure. `FromEnvironmentFieldPath` is an unknown type before v0.8.0. Up to v0.7.0, only the label `tag-manager.fn.crossplane.io/ignore-resource` is read, and not the annotation.",
		Differs: "An entry without `fromFieldPath`, which crashes the real function, is a fatal result. Every version has the kinds of v0.9.0.",
		New: func(o Options) function.Runner {
			return function.RunnerFunc(func(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				return manageTags(ctx, version(o.Package), req)
			})
		},
		locate: func(fatal string, _ []byte) (string, int) {
			entry, _, ok := strings.Cut(fatal, ": fromFieldPath is required for type ")
			if !ok {
				return "", 1
			}
			return entry, 1
		},
	}
}

// tagManagerMeasured is the version of the real function with which tests compare the builtin.
const tagManagerMeasured = "v0.9.0"

// manageTags sets the tags of the desired resources that have tags. Like the real function, it drops
// the connection details of all desired resources.
func manageTags(ctx context.Context, version string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in := &ManagedTags{}
	if err := sdk.Decode(req.GetInput(), in, sdk.Absent(version, tagManagerMeasured, tagManagerSince)...); err != nil {
		return sdk.Fatal(rsp, errors.New("cannot get Function input from *v1.RunFunctionRequest: "+unknownMember.Replace(err.Error()))), nil
	}
	c, err := newTagChange(in, &tagReader{
		composite:      req.GetObserved().GetComposite().GetResource(),
		environment:    req.GetContext().GetFields()[sdk.EnvironmentKey].GetStructValue(),
		hasEnvironment: sdk.Since(version, tagManagerMeasured, "v0.8.0"),
		objects:        map[*structpb.Struct]map[string]any{},
	})
	if err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	desired := sdk.Desired(req)
	annotated := sdk.Since(version, tagManagerMeasured, "v0.7.1-0")
	for name, d := range desired {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("managing tags: %w", context.Cause(ctx))
		}
		if ignoresTags(d.GetResource(), annotated) || !hasTags(kindOf(d.GetResource()).GroupKind()) {
			continue
		}
		t, err := c.tags(d.GetResource(), req.GetObserved().GetResources()[name].GetResource())
		if err != nil {
			return sdk.Fatal(rsp, err), nil
		}
		d.Resource = withTags(d.GetResource(), t)
	}
	rsp.Desired = &fnv1.State{Composite: req.GetDesired().GetComposite(), Resources: desired}
	sdk.Normal(rsp, "Successfully Processed tags")
	return rsp, nil
}

// unknownMember replaces the text for an unknown field of the JSON library that other functions
// have.
var unknownMember = strings.NewReplacer("cannot unmarshal Go value of type", "cannot unmarshal JSON string into Go", ": unknown name ", ": unknown object member name ")

// ignoreAnnotation is the annotation, or else the label, of resources that are not changed.
const ignoreAnnotation = "tag-manager.fn.crossplane.io/ignore-resource"

// ignoresTags reports whether a resource is marked to stay unchanged. Only its label counts unless
// annotated is true.
func ignoresTags(object *structpb.Struct, annotated bool) bool {
	text, ok := sdk.Annotations(object)[ignoreAnnotation]
	if !ok || !annotated {
		text = sdk.At(object, "metadata", "labels", ignoreAnnotation).GetStringValue()
	}
	return strings.EqualFold(text, "true")
}

// A tagReader reads values at the field paths in an input.
type tagReader struct {
	composite, environment *structpb.Struct
	// hasEnvironment is true if the type FromEnvironmentFieldPath is known.
	hasEnvironment bool
	objects        map[*structpb.Struct]map[string]any
}

// read returns the value at the field path of s, and nil if there is none. It returns an
// error if s has no field path. The real function crashes then.
func (r *tagReader) read(s *Source) (*structpb.Value, error) {
	from := r.composite
	switch {
	case s.Type == fromEnvironment && r.hasEnvironment:
		from = r.environment
	case s.Type != fromComposite:
		return nil, nil
	}
	if s.FromFieldPath == nil {
		return nil, fmt.Errorf("fromFieldPath is required for type %s", s.Type)
	}
	path, err := fieldpath.Parse(*s.FromFieldPath)
	if err != nil {
		return nil, nil
	}
	if r.objects[from] == nil {
		r.objects[from] = from.AsMap()
	}
	v, err := path.Get(r.objects[from])
	if err != nil {
		return nil, nil
	}
	return structpb.NewValue(v)
}

// A tagChange is the change that the input makes to the tags of each resource.
type tagChange struct {
	add    tagUpdates
	ignore []ignoredTags
	remove []string
}

// ignoredTags are the keys of an entry of ignoreTags.
type ignoredTags struct {
	keys    []string
	retains bool
	// err is the error of the entry. It concerns only resources with observed tags.
	err error
}

func newTagChange(in *ManagedTags, r *tagReader) (*tagChange, error) {
	c := &tagChange{}
	for i := range in.AddTags {
		entry := &in.AddTags[i]
		added, err := readFrom(r, &entry.Source, tagsOf(entry.Tags), toTags)
		if err != nil {
			return nil, fmt.Errorf("addTags[%d]: %w", i, err)
		}
		c.add.add(added, entry.retains(entry.Policy))
	}
	for i := range in.IgnoreTags {
		entry := &in.IgnoreTags[i]
		keys, err := readFrom(r, &entry.Source, entry.Keys, toTagKeys)
		if err != nil {
			err = fmt.Errorf("ignoreTags[%d]: %w", i, err)
		}
		c.ignore = append(c.ignore, ignoredTags{keys, entry.retains(entry.Policy), err})
	}
	// Of the lists at field paths, the last one replaces all others.
	var read []string
	for i := range in.RemoveTags {
		entry := &in.RemoveTags[i]
		if entry.isValue() {
			c.remove = append(c.remove, entry.Keys...)
			continue
		}
		v, err := r.read(&entry.Source)
		if err != nil {
			return nil, fmt.Errorf("removeTags[%d]: %w", i, err)
		}
		_, isNull := v.GetKind().(*structpb.Value_NullValue)
		if keys, _ := toTagKeys(v); keys != nil || isNull {
			read = keys
		}
	}
	c.remove = append(c.remove, read...)
	return c, nil
}

// readFrom returns the tags or keys of an entry, which are in the input (given) or at its field path. If
// one in the environment is not a string, it returns none.
func readFrom[T any](r *tagReader, s *Source, given T, convert func(*structpb.Value) (all T, allStrings bool)) (none T, err error) {
	if s.isValue() {
		return given, nil
	}
	v, err := r.read(s)
	all, allStrings := convert(v)
	if s.Type == fromEnvironment && !allStrings {
		return none, err
	}
	return all, err
}

// tags returns the changed tags of a resource. The observed resource may be nil.
func (c *tagChange) tags(desired, observed *structpb.Struct) (tags, error) {
	t, _ := toTags(sdk.At(desired, "spec", "forProvider", "tags"))
	c.add.apply(&t)
	if seen, ok := toTags(sdk.At(observed, "status", "atProvider", "tags")); ok {
		kept, err := c.kept(seen)
		if err != nil {
			return nil, err
		}
		kept.apply(&t)
	}
	for _, key := range c.remove {
		delete(t, key)
	}
	return t, nil
}

func (c *tagChange) kept(observed tags) (tagUpdates, error) {
	var all tagUpdates
	for _, entry := range c.ignore {
		if entry.err != nil {
			return all, entry.err
		}
		kept := tags{}
		for _, key := range entry.keys {
			if value, ok := observed[key]; ok {
				kept[key] = value
			}
		}
		all.add(kept, entry.retains)
	}
	return all, nil
}

//go:embed tagmanager_kinds.txt
var taggedKindsText string

// taggedKinds returns the kinds whose tags are managed, by the API group without its suffix
// ".upbound.io" or ".m.upbound.io".
var taggedKinds = sync.OnceValue(func() map[string][]string {
	groups := map[string][]string{}
	provider := ""
	for line := range strings.Lines(taggedKindsText) {
		service, names, ok := strings.Cut(line, ":")
		switch {
		case !ok:
			provider = strings.TrimSpace(strings.TrimPrefix(line, "# "))
		case service == "-":
			groups[provider] = strings.Fields(names)
		default:
			groups[service+"."+provider] = strings.Fields(names)
		}
	}
	return groups
})

func hasTags(kind kschema.GroupKind) bool {
	group, ok := strings.CutSuffix(kind.Group, ".upbound.io")
	return ok && slices.Contains(taggedKinds()[strings.TrimSuffix(group, ".m")], kind.Kind)
}

// ManagedTags is the input of function-tag-manager. All fields are optional.
type ManagedTags struct {
	sdk.Meta `json:",inline"`

	// AddTags are tags for all resources.
	AddTags []AddTag `json:"addTags,omitempty"`
	// IgnoreTags are the keys of tags whose observed values are kept.
	IgnoreTags []IgnoreTag `json:"ignoreTags,omitempty"`
	// RemoveTags are the keys of tags to remove. They are removed last.
	RemoveTags []RemoveTag `json:"removeTags,omitempty"`
}

// An AddTag has tags, or the path of tags.
type AddTag struct {
	Source `json:",inline"`
	// Policy is Replace if it is not Retain.
	Policy string `json:"policy,omitempty"`
	// Tags are the tags of the type FromValue.
	Tags map[string]string `json:"tags,omitempty"`
}

// An IgnoreTag has keys, or the path of keys.
type IgnoreTag struct {
	Source `json:",inline"`
	// Policy is Replace if it is not Retain.
	Policy string `json:"policy,omitempty"`
	// Keys are the keys of the type FromValue.
	Keys []string `json:"keys,omitempty"`
}

// A RemoveTag has keys, or the path of keys.
type RemoveTag struct {
	Source `json:",inline"`
	// Keys are the keys of the type FromValue.
	Keys []string `json:"keys,omitempty"`
}

// A Source selects where tags or keys come from.
type Source struct {
	// Type is FromValue if it is empty. An unknown type selects nothing.
	Type string `json:"type,omitempty"`
	// FromFieldPath is the path in the composite resource or in the environment.
	FromFieldPath *string `json:"fromFieldPath,omitempty"`
}

const (
	fromValue       = "FromValue"
	fromComposite   = "FromCompositeFieldPath"
	fromEnvironment = "FromEnvironmentFieldPath"

	retain = "Retain"
)

// tagManagerSince has the first version of the real function with each field. Other fields are older.
var tagManagerSince = map[string]string{"removeTags": "v0.3.0"}

// tagManagerValues are the values of Builtin.Values. Any other policy is Replace.
var tagManagerValues = map[string][]string{
	"addTags[].type":      {fromValue, fromComposite, fromEnvironment},
	"ignoreTags[].type":   {fromValue, fromComposite, fromEnvironment},
	"removeTags[].type":   {fromValue, fromComposite, fromEnvironment},
	"addTags[].policy":    {"Replace", retain},
	"ignoreTags[].policy": {"Replace", retain},
}

// isValue reports whether tags or keys are in the input.
func (s *Source) isValue() bool { return s.Type == "" || s.Type == fromValue }

// retains reports whether a policy is Retain. The real function ignores the policy of an
// entry without a type.
func (s *Source) retains(policy string) bool { return policy == retain && s.Type != "" }
