package builtin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/patch/spec"
)

// compositeName is the name of the composite resource among the resources of a matcher.
const compositeName = "function-status-transformer.reserved-keys.composite-resource"

// extraResources returns the resources of function-extra-resources by name:
// extra-resource.INTO.GROUP.KIND.NAMESPACE.NAME.
func extraResources(context *structpb.Struct) (map[string]*structpb.Struct, error) {
	all := map[string]*structpb.Struct{}
	value, ok := context.GetFields()[sdk.ExtraKey]
	if !ok {
		return all, nil
	}
	lists, ok := value.GetKind().(*structpb.Value_StructValue)
	if !ok {
		return nil, fmt.Errorf("unexpected extra-resources type: %T", value.AsInterface())
	}
	for _, into := range slices.Sorted(maps.Keys(lists.StructValue.GetFields())) {
		value := lists.StructValue.GetFields()[into]
		list, ok := value.GetKind().(*structpb.Value_ListValue)
		if !ok {
			return nil, fmt.Errorf("unexpected extra-resources value type for %s: %T", into, value.AsInterface())
		}
		for i, element := range list.ListValue.GetValues() {
			object, ok := element.GetKind().(*structpb.Value_StructValue)
			if !ok {
				return nil, fmt.Errorf("unexpected extra-resources value type for %s [%d]: %T", into, i, element.AsInterface())
			}
			kind, namespace := kindOf(object.StructValue), textAt(object.StructValue, "metadata", "namespace")
			all[strings.Join([]string{"extra-resource", into, kind.Group, kind.Kind, namespace, textAt(object.StructValue, "metadata", "name")}, ".")] = object.StructValue
		}
	}
	return all, nil
}

// match reports whether a matcher matches, and returns the groups of its message patterns.
func (r *statusTransformation) match(ctx context.Context, m Matcher) (bool, map[string]string, error) {
	resources, err := r.resources(ctx, m)
	if err != nil || len(resources) == 0 || len(m.Conditions) == 0 {
		return false, nil, err
	}
	matchType := ""
	if m.Type != nil {
		matchType = *m.Type
	}
	anyResource, anyCondition := matchType == anyAny || matchType == anyAll, matchType == anyAny || matchType == allAny
	groups := map[string]string{}
	// The real function has the random order of a map. Here, the names are sorted.
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		if ctx.Err() != nil {
			return false, nil, context.Cause(ctx)
		}
		matched := 0
		for _, c := range m.Conditions {
			ok, found, err := r.matchCondition(c, resources[name])
			if err != nil {
				return false, nil, err
			}
			if ok {
				matched++
				maps.Copy(groups, found)
			}
			if ok && matchType == anyAny {
				return true, found, nil
			}
			if !ok && !anyCondition {
				break
			}
		}
		matches := matched == len(m.Conditions) || anyCondition && matched > 0
		if matches == anyResource {
			return matches, groups, nil
		}
	}
	return !anyResource, groups, nil
}

func (r *statusTransformation) resources(ctx context.Context, m Matcher) (map[string]*structpb.Struct, error) {
	all := map[string]*structpb.Struct{}
	for i, selector := range m.Resources {
		pattern, err := r.pattern(selector.Name)
		if err != nil {
			return nil, fmt.Errorf("cannot compile resource key regex, resourcesIndex: %d: %w", i, err)
		}
		add := func(name string, object *structpb.Struct) error {
			matches, err := pattern.MatchString(name)
			if matches {
				all[name] = object
			}
			return err
		}
		for name, observed := range r.req.GetObserved().GetResources() {
			if err := add(name, observed.GetResource()); err != nil || ctx.Err() != nil {
				return nil, err
			}
		}
		if m.IncludeExtraResources == nil || !*m.IncludeExtraResources {
			continue
		}
		for name, object := range r.extra {
			if err := add(name, object); err != nil || ctx.Err() != nil {
				return nil, err
			}
		}
	}
	if m.IncludeCompositeAsResource != nil && *m.IncludeCompositeAsResource {
		all[compositeName] = r.req.GetObserved().GetComposite().GetResource()
	}
	return all, nil
}

// matchCondition compares a condition of a resource, and returns the groups of its message.
func (r *statusTransformation) matchCondition(c ConditionMatcher, object *structpb.Struct) (bool, map[string]string, error) {
	got := sdk.ConditionOf(object, c.Type)
	if c.Reason != nil && *c.Reason != got.Reason || c.Status != nil && *c.Status != got.Status {
		return false, nil, nil
	}
	if c.Message == nil {
		return true, nil, nil
	}
	pattern, err := r.pattern(*c.Message)
	if err != nil {
		return false, nil, fmt.Errorf("cannot compile message regex: %w", err)
	}
	matches, err := pattern.FindStringSubmatch(got.Message)
	if err != nil || matches == nil {
		return false, nil, err
	}
	groups := map[string]string{}
	for i, name := range pattern.SubexpNames() {
		if i > 0 {
			groups[name] = matches[i]
		}
	}
	return true, groups, nil
}

func (t *statusTransformerFunction) pattern(text string) (*spec.Expression, error) {
	return t.patterns.Do(text, func() (*spec.Expression, error) { return spec.CompilePattern(text) })
}
