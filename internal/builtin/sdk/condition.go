package sdk

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

// ConditionStatus returns the status of an object's first condition of a type,
// as "True". It is "Unknown" if there is none, and "" if the object has no status,
// or one whose conditions are not of the form that Crossplane gives them.
func ConditionStatus(obj *structpb.Struct, conditionType string) string {
	conditions, ok := conditionsOf(obj)
	if !ok {
		return ""
	}
	status, found := "Unknown", false
	for _, c := range conditions {
		if !isCondition(c) {
			return ""
		}
		fields := c.GetStructValue().GetFields()
		if !found && fields["type"].GetStringValue() == conditionType {
			status, found = fields["status"].GetStringValue(), true
		}
	}
	return status
}

// conditionsOf returns the conditions of an object, if it can have any.
func conditionsOf(obj *structpb.Struct) (conditions []*structpb.Value, ok bool) {
	status, ok := obj.GetFields()["status"]
	if !ok || !isNothing(status) && status.GetStructValue() == nil {
		return nil, false
	}
	list := status.GetStructValue().GetFields()["conditions"]
	if !isNothing(list) && list.GetListValue() == nil {
		return nil, false
	}
	return list.GetListValue().GetValues(), true
}

// isCondition reports whether v is a condition: all fields are optional, a null
// is as good as nothing, and fields that Crossplane does not know may be anything.
func isCondition(v *structpb.Value) bool {
	if isNothing(v) {
		return true
	}
	if _, ok := v.GetKind().(*structpb.Value_StructValue); !ok {
		return false
	}
	c := v.GetStructValue().GetFields()
	return isText(c["type"]) && isText(c["status"]) && isText(c["reason"]) && isText(c["message"]) &&
		isTime(c["lastTransitionTime"]) && isInteger(c["observedGeneration"])
}

func isText(v *structpb.Value) bool {
	_, ok := v.GetKind().(*structpb.Value_StringValue)
	return ok || isNothing(v)
}

func isTime(v *structpb.Value) bool {
	_, err := time.Parse(time.RFC3339, v.GetStringValue())
	return err == nil || isNothing(v)
}

// isInteger reports whether v fits 64 bits. The lowest of all does not, since the
// shortest text that stands for its float is a lower number.
func isInteger(v *structpb.Value) bool {
	n, ok := v.GetKind().(*structpb.Value_NumberValue)
	if !ok {
		return isNothing(v)
	}
	f := n.NumberValue
	return f == math.Trunc(f) && -(1<<63) < f && f < 1<<63
}

func isNothing(v *structpb.Value) bool {
	_, null := v.GetKind().(*structpb.Value_NullValue)
	return v == nil || null
}
