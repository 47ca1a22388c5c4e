package builtin

import "github.com/xfn-dev/xfn/internal/builtin/sdk"

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
