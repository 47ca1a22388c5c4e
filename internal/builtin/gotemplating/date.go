package gotemplating

import (
	"time"
	_ "time/tzdata" // time zones for systems without a database

	"github.com/Masterminds/sprig/v3"
)

// dates replaces the functions of Sprig that use the local time zone. The image
// of the real function has UTC and the time zone database.
var dates = map[string]any{
	"now":            func() time.Time { return time.Now().UTC() },
	"toDate":         toDate,
	"mustToDate":     func(layout, text string) (time.Time, error) { return time.ParseInLocation(layout, text, time.UTC) },
	"date":           func(layout string, date any) string { return inZone(layout, date, "UTC") },
	"dateInZone":     inZone,
	"date_in_zone":   inZone,
	"htmlDate":       func(date any) string { return inZone(time.DateOnly, date, "UTC") },
	"htmlDateInZone": func(date any, zone string) string { return inZone(time.DateOnly, date, zone) },
}

func toDate(layout, text string) time.Time {
	t, _ := time.ParseInLocation(layout, text, time.UTC)
	return t
}

var sprigInZone = sprig.GenericFuncMap()["dateInZone"].(func(string, any, string) string)

func inZone(layout string, date any, zone string) string {
	if zone == "Local" {
		zone = "UTC"
	}
	return sprigInZone(layout, date, zone)
}
