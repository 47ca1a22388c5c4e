package reconciler

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// Condition types that the engine sets.
const (
	TypeReady  = "Ready"
	TypeSynced = "Synced"
)

// A Condition is an entry of status.conditions.
type Condition struct {
	Type, Status, Reason, Message string
	// Since is the last transition time, or "" if it is unknown.
	Since string
	// ObservedGeneration is omitted from the output if it is 0.
	ObservedGeneration int64
}

// Conditions are the conditions of a resource, one of each type.
type Conditions []Condition

// ParseConditions decodes status.conditions as Kubernetes' decoder does. A
// malformed entry becomes a Condition with empty fields. The entries after an
// entry with a malformed time are ignored.
func ParseConditions(v any) Conditions {
	list := fieldpath.List(v)
	cs := make(Conditions, 0, len(list))
	for _, e := range list {
		c, ok := parseCondition(e)
		cs = append(cs, c)
		if !ok {
			break
		}
	}
	return cs
}

func parseCondition(v any) (c Condition, ok bool) {
	text := func(key string) string { return fieldpath.Text(v, key) }
	var since metav1.Time
	if data, err := json.Marshal(fieldpath.At(v, "lastTransitionTime")); err != nil || since.UnmarshalJSON(data) != nil {
		return Condition{}, false
	}
	c = Condition{
		Type: text("type"), Status: text("status"), Reason: text("reason"), Message: text("message"),
		ObservedGeneration: whole(fieldpath.At(v, "observedGeneration")),
	}
	if !since.IsZero() {
		c.Since = since.UTC().Format(time.RFC3339)
	}
	return c, true
}

func whole(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return int64(n)
		}
	}
	return 0
}

// Set replaces the condition that has c's type, unless it equals c. If there is
// none, Set appends c.
func (cs *Conditions) Set(c Condition) {
	found := false
	for i, old := range *cs {
		found = found || old.Type == c.Type
		if old.Type == c.Type && !old.equal(c) {
			(*cs)[i] = c
		}
	}
	if !found {
		*cs = append(*cs, c)
	}
}

// equal compares status, reason and message. It compares the observed generations
// only if both are set.
func (c Condition) equal(other Condition) bool {
	a, b := c.ObservedGeneration, other.ObservedGeneration
	return c.Status == other.Status && c.Reason == other.Reason && c.Message == other.Message && (a == b || a == 0 || b == 0)
}

// Value returns the conditions as a value for status.conditions. Each has the
// constant Time as its last transition time.
func (cs Conditions) Value() []any { return cs.value(func(Condition) any { return Time }) }

// Recorded is like Value, but keeps the last transition time of each condition.
// An unknown time is null.
func (cs Conditions) Recorded() []any {
	return cs.value(func(c Condition) any {
		if c.Since == "" {
			return nil
		}
		return c.Since
	})
}

func (cs Conditions) value(since func(Condition) any) []any {
	list := make([]any, len(cs))
	for i, c := range cs {
		m := map[string]any{
			"type":               c.Type,
			"status":             c.Status,
			"reason":             c.Reason,
			"lastTransitionTime": since(c),
		}
		if c.Message != "" {
			m["message"] = c.Message
		}
		if c.ObservedGeneration != 0 {
			m["observedGeneration"] = c.ObservedGeneration
		}
		list[i] = m
	}
	return list
}

func fromFunction(c *fnv1.Condition) Condition {
	status := "Unknown"
	switch c.GetStatus() {
	case fnv1.Status_STATUS_CONDITION_TRUE:
		status = "True"
	case fnv1.Status_STATUS_CONDITION_FALSE:
		status = "False"
	}
	return Condition{Type: c.GetType(), Status: status, Reason: c.GetReason(), Message: c.GetMessage(), Since: Time}
}

// ready returns the XR's condition Ready. own is the readiness that functions set for the
// XR. If own is unspecified, the XR is ready if all composed resources are ready.
func ready(own fnv1.Ready, desired *fnv1.State) Condition {
	c := Condition{Type: TypeReady, Status: "False", Reason: "Creating", Since: Time}
	unready := unreadyNames(desired)
	switch {
	case own == fnv1.Ready_READY_FALSE:
	case own == fnv1.Ready_READY_TRUE || len(unready) == 0:
		c.Status, c.Reason = "True", "Available"
	default:
		c.Message = "Unready resources: " + enumerate(unready)
	}
	return c
}

// unreadyNames returns the sorted names of resources that are not ready.
func unreadyNames(desired *fnv1.State) []string {
	var names []string
	for name, r := range desired.GetResources() {
		if r.GetReady() != fnv1.Ready_READY_TRUE {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// enumerate lists up to three names, and the number of further names.
func enumerate(names []string) string {
	switch n := len(names); {
	case n <= 2:
		return strings.Join(names, ", ")
	case n == 3:
		return fmt.Sprintf("%s, %s, and %s", names[0], names[1], names[2])
	default:
		return fmt.Sprintf("%s, and %d more", strings.Join(names[:3], ", "), n-3)
	}
}
