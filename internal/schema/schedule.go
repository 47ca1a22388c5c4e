package schema

import (
	"fmt"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var cronOperation = schema.GroupKind{Group: "ops.crossplane.io", Kind: "CronOperation"}

// CheckSchedule returns an error if Crossplane cannot parse the schedule of a CronOperation. The
// API server accepts any text, but Crossplane then creates no Operation.
func CheckSchedule(schedule string) error {
	if _, err := cron.ParseStandard(schedule); err != nil {
		return fmt.Errorf("not a cron schedule, such as \"0 3 * * *\" or \"@daily\": %w", err)
	}
	return nil
}

// scheduleFaults returns the fault of the schedule of obj, a CronOperation. A schedule that is
// missing or of another type is not its fault.
func scheduleFaults(obj map[string]any) []Fault {
	schedule, ok, err := unstructured.NestedString(obj, "spec", "schedule")
	if !ok || err != nil {
		return nil
	}
	if err := CheckSchedule(schedule); err != nil {
		return []Fault{Of(field.Invalid(field.NewPath("spec", "schedule"), schedule, err.Error()))}
	}
	return nil
}
