package schema

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CronOperation is the kind that has a schedule.
var CronOperation = schema.GroupKind{Group: "ops.crossplane.io", Kind: "CronOperation"}

// CheckSchedule returns an error if Crossplane cannot parse the schedule of a CronOperation, or if
// no date matches it. The API server accepts any text, but Crossplane then creates no Operation.
func CheckSchedule(schedule string) error {
	var (
		err   error
		times cron.Schedule
	)
	zone, _, hasFields := strings.Cut(schedule, " ")
	if strings.Contains(zone, "TZ=") && !hasFields { // ParseStandard panics.
		err = errors.New("nothing follows the time zone")
	} else {
		times, err = cron.ParseStandard(schedule)
	}
	// Next returns the zero time if no time within five years matches.
	if err == nil && times.Next(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return errors.New("no date matches the schedule")
	}
	if err != nil {
		return fmt.Errorf("not a cron schedule, such as \"0 3 * * *\" or \"@daily\": %w", err)
	}
	return nil
}
