package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CronOperation is the kind that has a schedule.
var CronOperation = schema.GroupKind{Group: "ops.crossplane.io", Kind: "CronOperation"}

// CheckSchedule returns an error if Crossplane cannot parse the schedule of a CronOperation. The
// API server accepts any text, but Crossplane then creates no Operation.
func CheckSchedule(schedule string) error {
	var err error
	zone, _, hasFields := strings.Cut(schedule, " ")
	if strings.Contains(zone, "TZ=") && !hasFields { // ParseStandard panics.
		err = errors.New("nothing follows the time zone")
	} else {
		_, err = cron.ParseStandard(schedule)
	}
	if err != nil {
		return fmt.Errorf("not a cron schedule, such as \"0 3 * * *\" or \"@daily\": %w", err)
	}
	return nil
}
