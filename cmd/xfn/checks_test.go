package main

import (
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestCheckLimits checks the highest and lowest values that the tags of flags allow, and their neighbors.
func TestCheckLimits(t *testing.T) {
	const size = "--size must be between 1 and 2047 MiB, got "
	for name, tc := range map[string]struct{ reason, arg, err string }{
		"Least":       {"the lowest value is allowed", "--size=1", ""},
		"Most":        {"the highest value is allowed", "--size=2047", ""},
		"Below":       {"the value below the lowest is refused", "--size=0", size + "0"},
		"Above":       {"the value above the highest is refused", "--size=2048", size + "2048"},
		"Negative":    {"a negative value is refused", "--size=-1", size + "-1"},
		"Optional":    {"a flag without a default is checked if it is given", "--optional=2048", "--optional must be between 1 and 2047 MiB, got 2048"},
		"Percentage":  {"a fraction below the highest value is allowed", "--percent=99.5", ""},
		"NotANumber":  {"NaN is outside of all limits", "--percent=NaN", "--percent must be between 0 and 100, got NaN"},
		"Positive":    {"the lowest positive value is allowed", "--runs=1", ""},
		"NotPositive": {"zero is not positive", "--runs=0", "--runs must be positive, got 0"},
		"Duration":    {"a negative duration is not positive", "--timeout=-1s", "--timeout must be positive, got -1s"},
	} {
		t.Run(name, func(t *testing.T) {
			var cli struct {
				Size     int           `limits:"1 2047 MiB" default:"64"`
				Optional *int          `limits:"1 2047 MiB"`
				Percent  float64       `limits:"0 100"`
				Runs     int           `positive:"" default:"10"`
				Timeout  time.Duration `positive:"" default:"1m"`
			}
			kctx := e2e.Must(e2e.Must(kong.New(&cli))(t).Parse([]string{tc.arg}))(t)
			e2e.WantError(t, tc.reason, checkLimits(kctx), tc.err)
		})
	}
}
