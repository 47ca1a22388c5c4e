package builtin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/proc"
)

func statusTransformer() Builtin {
	return Builtin{
		Name: "function-status-transformer", Measured: statusTransformerMeasured, From: "v0.1.0", Below: "v0.6.0",
		Input:   inputOf[StatusTransformation]("function-status-transformer.fn.crossplane.io/v1beta1 StatusTransformation", composition.Input{Values: statusValues, Patterns: []string{"statusConditionHooks[].matchers[].resources[].name", "statusConditionHooks[].matchers[].conditions[].message"}, Quiet: true}),
		Covered: "`statusConditionHooks` with `matchers` of all four types, `setConditions` and `createEvents`. `includeCompositeAsResource` exists since v0.4.0, and `includeExtraResources` since v0.5.0.",
		Differs: "Resources that match are compared in the order of their names. The real function uses them in random order, on which groups of the same name depend. Regular expressions (16 KiB), and the output (64 MiB) and recursion of messages are limited, and the timeout of the render applies.",
		New: func(o Options) function.Runner {
			return o.withNames(newStatusTransformer(version(o.Package)), false, "statusConditionHooks[].matchers[].resources[].name")
		},
	}
}

// statusTransformerMeasured is the version of the real function with which tests compare the builtin.
const statusTransformerMeasured = "v0.5.1"

// newStatusTransformer returns function-status-transformer as it is in a version. It caches decoded
// inputs and compiled patterns.
func newStatusTransformer(version string) function.Runner {
	t := &statusTransformerFunction{}
	t.inputs.Lacks = sdk.Absent(version, statusTransformerMeasured, map[string]string{
		"statusConditionHooks[].matchers[].includeCompositeAsResource": "v0.4.0-0",
		"statusConditionHooks[].matchers[].includeExtraResources":      "v0.5.0-0",
	})
	return function.RunnerFunc(t.run)
}

type statusTransformerFunction struct {
	inputs   sdk.Inputs[StatusTransformation]
	patterns proc.Memo[string, *spec.Expression]
}

// run always returns the state of the request. It reports faults in conditions.
func (t *statusTransformerFunction) run(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	defer proc.EnterStep(ctx, function.Step(ctx))()
	r := &statusTransformation{statusTransformerFunction: t, req: req, rsp: sdk.To(req), set: map[string]bool{}}
	in, err := t.inputs.Of(req)
	if err != nil {
		r.fail("InputFailure", err)
		return r.rsp, nil
	}
	for i, hook := range in.StatusConditionHooks {
		if !r.hook(ctx, i, hook) {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("transforming conditions: %w", context.Cause(ctx))
	}
	if !r.failed {
		r.rsp.Conditions = append(r.rsp.Conditions, &fnv1.Condition{
			Type: successType, Status: fnv1.Status_STATUS_CONDITION_TRUE, Reason: "Available", Target: fnv1.Target_TARGET_COMPOSITE.Enum(),
		})
	}
	return r.rsp, nil
}

// A statusTransformation is the processing of one request.
type statusTransformation struct {
	*statusTransformerFunction
	req *fnv1.RunFunctionRequest
	rsp *fnv1.RunFunctionResponse
	// set has the types of the conditions that are set.
	set    map[string]bool
	failed bool
	// extra are the resources of function-extra-resources by name. It is nil until the first
	// matcher includes them.
	extra map[string]*structpb.Struct
}

// successType is the type of the condition that reports success and faults.
const successType = "StatusTransformationSuccess"

func (r *statusTransformation) fail(reason string, err error) {
	r.failed = true
	r.rsp.Conditions = append(r.rsp.Conditions, &fnv1.Condition{
		Type: successType, Status: fnv1.Status_STATUS_CONDITION_FALSE, Reason: reason,
		Message: new(err.Error()), Target: fnv1.Target_TARGET_COMPOSITE.Enum(),
	})
}

// hook runs the hook with an index. It returns false if no hook may run after it.
func (r *statusTransformation) hook(ctx context.Context, index int, hook StatusConditionHook) bool {
	values := map[string]string{}
	for i, m := range hook.Matchers {
		if m.IncludeExtraResources != nil && *m.IncludeExtraResources && r.extra == nil {
			var err error
			if r.extra, err = extraResources(r.req.GetContext()); err != nil {
				r.fail("InputFailure", fmt.Errorf("cannot load extra-resources: %w", err))
				return false
			}
		}
		matches, groups, err := r.match(ctx, m)
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			r.fail("MatchFailure", fmt.Errorf("cannot match resources, statusConditionHookIndex: %d, matchConditionIndex: %d: %w", index, i, err))
		}
		if !matches {
			return true
		}
		maps.Copy(values, groups)
	}
	if len(hook.Matchers) > 0 {
		r.setConditions(ctx, index, hook.SetConditions, values)
		r.createEvents(ctx, index, hook.CreateEvents, values)
	}
	return true
}

func (r *statusTransformation) setConditions(ctx context.Context, hook int, setters []SetCondition, values map[string]string) {
	for i, s := range setters {
		if force := s.Force != nil && *s.Force; r.set[s.Condition.Type] && !force {
			continue
		}
		text, err := executeMessage(ctx, s.Condition.Message, values)
		if err != nil {
			r.fail("SetConditionFailure", fmt.Errorf("cannot set condition, statusConditionHookIndex: %d, setConditionIndex: %d: %w", hook, i, err))
			continue
		}
		r.set[s.Condition.Type] = true
		r.rsp.Conditions = append(r.rsp.Conditions, &fnv1.Condition{
			Type: s.Condition.Type, Status: sdk.StatusOf(s.Condition.Status), Reason: s.Condition.Reason, Message: text, Target: sdk.TargetOf(s.Target),
		})
	}
}

func (r *statusTransformation) createEvents(ctx context.Context, hook int, events []CreateEvent, values map[string]string) {
	for i, e := range events {
		severity, err := eventSeverity(e.Event.Type)
		text := &e.Event.Message
		if err == nil {
			text, err = executeMessage(ctx, text, values)
		}
		if err != nil {
			r.fail("SetConditionFailure", fmt.Errorf("cannot create event, statusConditionHookIndex: %d, createEventIndex: %d: %w", hook, i, err))
			continue
		}
		r.rsp.Results = append(r.rsp.Results, &fnv1.Result{Severity: severity, Reason: e.Event.Reason, Message: *text, Target: sdk.TargetOf(e.Target)})
	}
}

func eventSeverity(eventType *string) (fnv1.Severity, error) {
	switch {
	case eventType == nil || *eventType == "Normal":
		return fnv1.Severity_SEVERITY_NORMAL, nil
	case *eventType == "Warning":
		return fnv1.Severity_SEVERITY_WARNING, nil
	default:
		return 0, fmt.Errorf("invalid type %s, must be one of [Normal, Warning]", *eventType)
	}
}

// executeMessage executes a template with values. Without values, it returns the text unchanged.
func executeMessage(ctx context.Context, text *string, values map[string]string) (*string, error) {
	if text == nil || len(values) == 0 {
		return text, nil
	}
	out, parsed, err := gotemplating.ExecuteStandard(ctx, *text, values)
	switch {
	case err != nil && !parsed:
		return nil, errors.New("cannot parse template: " + strings.ToValidUTF8(err.Error(), "\uFFFD"))
	case err != nil:
		return nil, errors.New("cannot execute template: " + strings.ToValidUTF8(err.Error(), "\uFFFD"))
	default:
		// The function slice can cut a character in two.
		return new(strings.ToValidUTF8(out, "\uFFFD")), nil
	}
}

// StatusTransformation is the input of function-status-transformer. The function accepts an
// input without any field. A field is required if a matcher, condition or event has no meaning
// without the field. Error texts contain the names of this type and of the types of its fields,
// so they are the same as in the real function.
type StatusTransformation struct {
	sdk.Meta `json:",inline"`

	// StatusConditionHooks run in order.
	StatusConditionHooks []StatusConditionHook `json:"statusConditionHooks" required:""`
}

// A StatusConditionHook sets conditions and creates events if all its matchers match. A hook
// without matchers does not match.
type StatusConditionHook struct {
	Matchers      []Matcher      `json:"matchers"`
	SetConditions []SetCondition `json:"setConditions"`
	CreateEvents  []CreateEvent  `json:"createEvents"`
}

// A Matcher compares conditions of resources. Without resources or without conditions, it does
// not match.
type Matcher struct {
	// Name is ignored. The real function logs it.
	Name *string `json:"name"`
	// Type is a type of matchers. The default is AllResourcesMatchAllConditions, also for any
	// other text.
	Type *string `json:"type"`
	// Resources select observed composed resources.
	Resources []ResourceMatcher `json:"resources"`
	// Conditions are compared with the conditions of the resources.
	Conditions []ConditionMatcher `json:"conditions"`
	// IncludeCompositeAsResource adds the observed composite resource.
	IncludeCompositeAsResource *bool `json:"includeCompositeAsResource"`
	// IncludeExtraResources lets Resources also select resources of
	// function-extra-resources in the context.
	IncludeExtraResources *bool `json:"includeExtraResources"`
}

// The types of matchers.
const (
	anyAny = "AnyResourceMatchesAnyCondition"
	anyAll = "AnyResourceMatchesAllConditions"
	allAny = "AllResourcesMatchAnyCondition"
	allAll = "AllResourcesMatchAllConditions"
)

// statusValues are the values of Builtin.Values.
var statusValues = map[string][]string{
	"statusConditionHooks[].matchers[].type":                  {anyAny, anyAll, allAny, allAll},
	"statusConditionHooks[].matchers[].conditions[].status":   sdk.ConditionStatuses(),
	"statusConditionHooks[].setConditions[].condition.status": sdk.ConditionStatuses(),
	"statusConditionHooks[].setConditions[].target":           {"Composite", "CompositeAndClaim"},
	"statusConditionHooks[].createEvents[].target":            {"Composite", "CompositeAndClaim"},
}

// A ResourceMatcher selects resources by name.
type ResourceMatcher struct {
	// Name is an RE2 regular expression that matches anywhere in the name.
	Name string `json:"name" required:""`
}

// A ConditionMatcher describes a condition. Fields that are not set match anything.
type ConditionMatcher struct {
	Type   string  `json:"type" required:""`
	Status *string `json:"status"`
	Reason *string `json:"reason"`
	// Message is an RE2 regular expression that matches anywhere in the message. Its groups
	// are values for the messages of conditions and events.
	Message *string `json:"message"`
}

// A SetCondition sets a condition of the composite resource.
type SetCondition struct {
	// Target is Composite or CompositeAndClaim. Any other text means Composite.
	Target *string `json:"target"`
	// Force sets the condition even if its type is already set.
	Force     *bool     `json:"force"`
	Condition Condition `json:"condition" required:""`
}

// A Condition is a condition of the composite resource.
type Condition struct {
	Type string `json:"type" required:""`
	// Status is True or False. Any other text means Unknown.
	Status string `json:"status" required:""`
	Reason string `json:"reason" required:""`
	// Message is a template if a matcher has groups.
	Message *string `json:"message"`
}

// A CreateEvent creates an event of the composite resource.
type CreateEvent struct {
	// Target is Composite or CompositeAndClaim. Any other text means Composite.
	Target *string `json:"target"`
	Event  Event   `json:"event" required:""`
}

// An Event is an event of the composite resource.
type Event struct {
	// Type is Normal or Warning. The default is Normal.
	Type   *string `json:"type"`
	Reason *string `json:"reason"`
	// Message is a template if a matcher has groups.
	Message string `json:"message" required:""`
}
