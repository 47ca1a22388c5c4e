package sdk

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

// ConditionStatus returns the status of an object's first condition of a type,
// such as "True". It returns "Unknown" if there is no such condition. It
// returns "" if the object has no status, or if its conditions do not have
// Crossplane's types.
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

// conditionsOf returns the conditions of an object. ok is false if its status
// has the wrong type.
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

// isCondition reports whether v is a condition. All fields are optional and may
// be null. Unknown fields may have any type.
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

// isInteger reports whether v fits into 64 bits. The smallest int64 does not:
// the shortest text for its float is a smaller number.
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
