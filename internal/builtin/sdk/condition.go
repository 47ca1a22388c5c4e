package sdk

import (
	"math"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// A Condition is a condition of an object.
type Condition struct{ Status, Reason, Message string }

// ConditionOf returns an object's first condition of the given type. If there is none, the
// status is "Unknown". If the object has no status, or a field of a condition has the wrong
// type, the result is empty.
func ConditionOf(obj *structpb.Struct, conditionType string) Condition {
	status, ok := obj.GetFields()["status"]
	conditions := status.GetStructValue().GetFields()["conditions"]
	if !ok || !isA[*structpb.Value_StructValue](status) || !isA[*structpb.Value_ListValue](conditions) {
		return Condition{}
	}
	result, found := Condition{Status: "Unknown"}, false
	for _, c := range conditions.GetListValue().GetValues() {
		fields := c.GetStructValue().GetFields()
		if !isA[*structpb.Value_StructValue](c) || !isCondition(fields) {
			return Condition{}
		}
		if !found && fields["type"].GetStringValue() == conditionType {
			found = true
			result = Condition{fields["status"].GetStringValue(), fields["reason"].GetStringValue(), fields["message"].GetStringValue()}
		}
	}
	return result
}

// isCondition reports whether the fields of c have the types of a condition's
// fields. It rejects an observedGeneration of -2^63, because Crossplane reads the
// shortest text of this float, which overflows an int64.
func isCondition(c map[string]*structpb.Value) bool {
	for _, key := range []string{"type", "status", "reason", "message"} {
		if !isA[*structpb.Value_StringValue](c[key]) {
			return false
		}
	}
	moment, generation := c["lastTransitionTime"], c["observedGeneration"]
	if _, err := time.Parse(time.RFC3339, moment.GetStringValue()); err != nil && !isNullOrAbsent(moment) {
		return false
	}
	n := generation.GetNumberValue()
	return isA[*structpb.Value_NumberValue](generation) && n == math.Trunc(n) && -(1<<63) < n && n < 1<<63
}

// isA reports whether v has the kind K. A null or absent v has every kind.
func isA[K any](v *structpb.Value) bool {
	_, ok := v.GetKind().(K)
	return ok || isNullOrAbsent(v)
}

func isNullOrAbsent(v *structpb.Value) bool {
	_, null := v.GetKind().(*structpb.Value_NullValue)
	return v == nil || null
}

// ConditionStatuses returns the statuses that a condition can have.
func ConditionStatuses() []string { return []string{"True", "False", "Unknown"} }

// StatusOf returns the status of a condition in a response. Any other text is Unknown.
func StatusOf(status string) fnv1.Status {
	switch status {
	case "True":
		return fnv1.Status_STATUS_CONDITION_TRUE
	case "False":
		return fnv1.Status_STATUS_CONDITION_FALSE
	default:
		return fnv1.Status_STATUS_CONDITION_UNKNOWN
	}
}

// TargetOf returns the target of a result or condition in an input, which is the composite resource
// by default.
func TargetOf(target *string) *fnv1.Target {
	if target != nil && *target == "CompositeAndClaim" {
		return fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum()
	}
	return fnv1.Target_TARGET_COMPOSITE.Enum()
}
