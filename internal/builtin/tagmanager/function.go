package tagmanager

import (
	"context"
	"errors"
	"fmt"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/fieldpath"
)

// Measured is the version of the real function with which tests compare the builtin.
const Measured = "v0.9.0"

// New returns the function as it is in a version.
func New(version string) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		return run(ctx, version, req)
	})
}

// run sets the tags of the desired resources that have tags. Like the real function, it drops
// the connection details of all desired resources.
func run(ctx context.Context, version string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in := &ManagedTags{}
	if err := sdk.Decode(req.GetInput(), in, sdk.Absent(version, Measured, since)...); err != nil {
		return sdk.Fatal(rsp, errors.New("cannot get Function input from *v1.RunFunctionRequest: "+unknownField.Replace(err.Error()))), nil
	}
	c, err := newChange(in, newReader(version, req))
	if err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	desired := sdk.Desired(req)
	for name, d := range desired {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("managing tags: %w", context.Cause(ctx))
		}
		if isIgnored(d.GetResource()) || !hasTags(kindOf(d.GetResource())) {
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

// unknownField replaces the text for an unknown field of the JSON library that other functions
// have.
var unknownField = strings.NewReplacer("cannot unmarshal Go value of type", "cannot unmarshal JSON string into Go", ": unknown name ", ": unknown object member name ")

func kindOf(object *structpb.Struct) kschema.GroupKind {
	fields := object.GetFields()
	return kschema.FromAPIVersionAndKind(fields["apiVersion"].GetStringValue(), fields["kind"].GetStringValue()).GroupKind()
}

// ignoreResource is the annotation, or else the label, of resources that are not changed.
const ignoreResource = "tag-manager.fn.crossplane.io/ignore-resource"

// isIgnored reports whether a resource is marked as one that is not changed.
func isIgnored(object *structpb.Struct) bool {
	text, ok := sdk.Annotations(object)[ignoreResource]
	if !ok {
		text = sdk.At(object, "metadata", "labels", ignoreResource).GetStringValue()
	}
	return strings.EqualFold(text, "true")
}

// A reader reads values at the field paths in an input.
type reader struct {
	composite, environment *structpb.Struct
	// hasEnvironment is true if the type FromEnvironmentFieldPath is known.
	hasEnvironment bool
	objects        map[*structpb.Struct]map[string]any
}

// newReader returns a reader of the observed composite resource and the environment of req.
func newReader(version string, req *fnv1.RunFunctionRequest) *reader {
	return &reader{
		composite:      req.GetObserved().GetComposite().GetResource(),
		environment:    req.GetContext().GetFields()["apiextensions.crossplane.io/environment"].GetStructValue(),
		hasEnvironment: sdk.Since(version, Measured, "v0.8.0"),
		objects:        map[*structpb.Struct]map[string]any{},
	}
}

// read returns the value at the field path of s, and nil if there is none. The error is that
// there is no field path, which crashes the real function.
func (r *reader) read(s *Source) (*structpb.Value, error) {
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

// A change is what the input does with the tags of each resource.
type change struct {
	add    updates
	ignore []ignored
	remove []string
}

// ignored are the keys of an entry of ignoreTags.
type ignored struct {
	keys    []string
	retains bool
	// err is the error of the entry. It concerns only resources with observed tags.
	err error
}

func newChange(in *ManagedTags, r *reader) (*change, error) {
	c := &change{}
	for i := range in.AddTags {
		entry := &in.AddTags[i]
		added, err := addedTags(entry, r)
		if err != nil {
			return nil, fmt.Errorf("addTags[%d]: %w", i, err)
		}
		c.add.add(added, entry.retains(entry.Policy))
	}
	for i := range in.IgnoreTags {
		entry := &in.IgnoreTags[i]
		keys, err := ignoredKeys(entry, r)
		if err != nil {
			err = fmt.Errorf("ignoreTags[%d]: %w", i, err)
		}
		c.ignore = append(c.ignore, ignored{keys, entry.retains(entry.Policy), err})
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
		if keys, _ := toKeys(v); keys != nil || isNull(v) {
			read = keys
		}
	}
	c.remove = append(c.remove, read...)
	return c, nil
}

// addedTags returns the tags of an entry. If a tag in the environment is not a string, there
// are none.
func addedTags(entry *AddTag, r *reader) (tags, error) {
	if entry.isValue() {
		return valuesOf(entry.Tags), nil
	}
	v, err := r.read(&entry.Source)
	t, allStrings := toTags(v)
	if entry.Type == fromEnvironment && !allStrings {
		return nil, err
	}
	return t, err
}

// ignoredKeys returns the keys of an entry. If a key in the environment is not a string, there
// are none.
func ignoredKeys(entry *IgnoreTag, r *reader) ([]string, error) {
	if entry.isValue() {
		return entry.Keys, nil
	}
	v, err := r.read(&entry.Source)
	keys, allStrings := toKeys(v)
	if entry.Type == fromEnvironment && !allStrings {
		return nil, err
	}
	return keys, err
}

// tags returns the changed tags of a resource. The observed resource may be nil.
func (c *change) tags(desired, observed *structpb.Struct) (tags, error) {
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

// kept returns the observed tags that ignoreTags selects.
func (c *change) kept(observed tags) (updates, error) {
	var all updates
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

// Locate returns the path of the entry in an input to which a fatal result refers, or "".
func Locate(fatal string) string {
	entry, _, ok := strings.Cut(fatal, ": fromFieldPath is required for type ")
	if !ok {
		return ""
	}
	return entry
}
