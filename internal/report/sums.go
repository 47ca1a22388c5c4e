package report

import (
	"time"
)

func took(t Trace) time.Duration {
	var sum time.Duration
	for _, s := range t.Steps {
		sum += s.Took
	}
	return sum
}

// share returns the duration of a step in percent of the slowest step's.
func share(t Trace, s Step) int {
	var slowest time.Duration
	for _, other := range t.Steps {
		slowest = max(slowest, other.Took)
	}
	if slowest <= 0 {
		return 0
	}
	return max(1, int(100*s.Took/slowest))
}

func countRows(t Trace) int {
	n := 0
	for _, s := range t.Steps {
		n += stepRows(s)
	}
	return n
}

// stepRows returns the number of rows of a step on the page.
func stepRows(s Step) int {
	n := len(s.ContextChanges) + len(s.Results) + len(s.Conditions) + len(s.Requirements)
	for _, r := range s.Changes {
		n += max(1, resourceRows(r))
	}
	return n
}

func resourceRows(r ResourceChange) int {
	n := len(r.Fields) + len(r.ConnectionDetails)
	if r.Ready != nil {
		n++
	}
	return n
}

// results counts the results of one severity.
func results(s Step, severity string) int {
	n := 0
	for _, r := range s.Results {
		if r.Severity == severity {
			n++
		}
	}
	return n
}

// changeCounts are the numbers of added, changed and removed things.
type changeCounts struct{ Added, Changed, Removed int }

func tally(s Step) changeCounts {
	added, changed, removed := s.Count()
	return changeCounts{added, changed, removed}
}

// A part is the data of a step's template.
type part struct {
	Step Step
	Open bool
}

// A row is the data of a change's template. Name is empty for a field;
// otherwise it says what changed.
type row struct {
	Name   string
	Change Change
}
