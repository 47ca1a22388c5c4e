package test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/suite"
)

// plan returns the selected items. With --timings, shards have similar durations.
func (f selectFlags) plan(term *terminal.Terminal, suites []*suite.Suite, sel suite.Selection) ([]suite.Item, error) {
	shard := sel.Shard
	if f.Timings != "" {
		sel.Shard = suite.Shard{}
	}
	items, err := suite.Plan(suites, sel)
	if err != nil {
		return nil, &terminal.UsageError{Err: err}
	}
	if f.Timings == "" {
		return items, nil
	}
	timings, err := readTimings(f.Timings)
	if err != nil {
		return nil, hint.Wrap(err, "xfn test writes such a file with --junit, or prints it with --format json")
	}
	split := timings.Split(items, shard.Count)
	if split.Unknown == len(items) && len(items) > 0 {
		term.Warn(fmt.Sprintf("%q has no times of the %s: all cases count as equally long", f.Timings, terminal.Count(len(items), "case")))
	}
	mean, slowest := split.Mean(), split.Slowest()
	part := split.Items(shard)
	term.Note(fmt.Sprintf("shard %d of %d has %d of %s (%d without a recorded time), about %s; the slowest shard has %s, the mean is %s; split %s",
		shard.Index, shard.Count, len(part), terminal.Count(len(items), "case"), split.Unknown, rounded(split.Loads[shard.Index-1]), rounded(slowest), rounded(mean), split.Digest()))
	if split.LongestTime > max(mean, time.Second) && slowest > mean+mean/10 {
		term.Warn(fmt.Sprintf("%d shards are too many: %s alone takes about %s, and the mean of the shards is %s",
			shard.Count, split.Longest.Name(), rounded(split.LongestTime), rounded(mean)))
	}
	return part, nil
}

func readTimings(path string) (_ *suite.Timings, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the times of cases from %q: %w", path, fsx.Cause(err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t, err := suite.ReadTimings(f)
	return t, terminal.Wrap(err, "reading the times of cases from %q", path)
}

// rounded returns a duration in seconds, with two decimals.
func rounded(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }
