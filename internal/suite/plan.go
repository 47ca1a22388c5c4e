package suite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/check"
	"github.com/xfn-dev/xfn/internal/suite/spec"
	"github.com/xfn-dev/xfn/render"
)

// An Item is a case to run, or a suite whose error is reported.
type Item struct {
	Suite *Suite
	// Case is nil for a suite whose Err is set.
	Case *spec.Case

	// composition, if not nil, replaces the Composition of the case.
	composition map[string]any
	// fuzz, if not nil, replaces the composite resource.
	fuzz *fuzzInput
}

// Name returns "suite/case", or the suite's name.
func (i Item) Name() string {
	if i.Case == nil {
		return i.Suite.Name
	}
	return i.Suite.Name + "/" + i.Case.Name
}

// A Shard selects one of Count parts of all cases: the part Index, counted from
// 1. The zero value selects all cases.
type Shard struct{ Index, Count int }

// ParseShard parses the form "I/N", such as "2/4".
func ParseShard(text string) (Shard, error) {
	i, n, ok := strings.Cut(text, "/")
	index, err := strconv.Atoi(i)
	count, countErr := strconv.Atoi(n)
	if !ok || err != nil || countErr != nil {
		return Shard{}, fmt.Errorf("%q is not a shard: expected INDEX/COUNT, such as 2/4", text)
	}
	s := Shard{index, count}
	if s == (Shard{}) { // The zero Shard would select all cases.
		return s, s.missing()
	}
	return s, s.Check()
}

// maxShards limits Shard.Count, because Timings.Split keeps the load of each shard.
const maxShards = 1_000_000

// Check returns an error unless 1 <= Index <= Count <= 1,000,000, or s is the zero value.
func (s Shard) Check() error {
	if s.Count > maxShards {
		return fmt.Errorf("invalid shard %d/%d: at most %d shards are allowed", s.Index, s.Count, maxShards)
	}
	if s != (Shard{}) && (s.Count < 1 || s.Index < 1 || s.Index > s.Count) {
		return s.missing()
	}
	return nil
}

func (s Shard) missing() error {
	err := fmt.Errorf("invalid shard %d/%d: the index must be between 1 and the count", s.Index, s.Count)
	if s.Index == 0 && s.Count > 0 {
		return hint.Wrap(err, hint.Hint(fmt.Sprintf("add 1 to the index of a system that counts from 0, as in 1/%d", s.Count)))
	}
	return err
}

// has reports whether an item belongs to the shard. The shard of an item depends only
// on a hash of its file's path and its case's name, not on other items.
func (s Shard) has(i Item) bool {
	if s.Count <= 1 {
		return true
	}
	name := filepath.ToSlash(i.Suite.Path) + "\x00"
	if i.Case != nil {
		name += i.Case.Name
	}
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:8])%uint64(s.Count) == uint64(s.Index-1)
}

// A Selection selects the items to run, and the number of runs.
type Selection struct {
	// Run selects items by Item.Name. Nil selects all.
	Run   *regexp.Regexp
	Shard Shard
	// Count is the number of runs of each item. 0 means 1.
	Count int
}

// MaxItems limits the number of items if Count is more than 1.
const MaxItems = 1_000_000

// Plan returns the selected items in the order of suites and cases. The whole list is
// repeated Count times. A suite whose Err is set is not filtered by Run. It is an error if Run
// matches no case.
func Plan(suites []*Suite, sel Selection) ([]Item, error) {
	if err := sel.Shard.Check(); err != nil {
		return nil, err
	}
	if sel.Count < 0 {
		return nil, errors.New("the number of runs must be at least 1")
	}
	var items []Item
	var others []string // The names of cases that Run does not select.
	selected := false
	add := func(i Item) {
		if sel.Run != nil && i.Case != nil && !sel.Run.MatchString(i.Name()) {
			others = append(others, i.Name())
			return
		}
		selected = true
		if sel.Shard.has(i) {
			items = append(items, i)
		}
	}
	for _, s := range suites {
		if s.Err != nil {
			add(Item{Suite: s})
			continue
		}
		for _, c := range s.Cases {
			add(Item{Suite: s, Case: c})
		}
	}
	if !selected && sel.Run != nil {
		return nil, noMatch(sel.Run.String(), others)
	}
	if len(items) > 0 && sel.Count > MaxItems/len(items) {
		return nil, fmt.Errorf("%d cases cannot run %d times: at most %d runs are allowed in total", len(items), sel.Count, MaxItems)
	}
	return slices.Repeat(items, max(sel.Count, 1)), nil
}

// noMatch returns the error for a regular expression that matches no name of a case.
func noMatch(run string, names []string) error {
	const most = 5
	next := "the cases are " + strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		next += fmt.Sprintf(" and %d more", len(names)-most)
	}
	ends := slices.Clone(names)
	for _, name := range names {
		ends = append(ends, name[strings.LastIndexByte(name, '/')+1:])
	}
	return hint.Wrap(fmt.Errorf("the name of no case matches %q", run), cmp.Or(hint.Meant("", hint.Nearest(run, ends)), hint.Hint(next)))
}

// A Status is the result of a case.
type Status string

// The statuses of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// An Outcome is the result of running an Item.
type Outcome struct {
	// Suite and Case are the names. Case is empty for a suite that could not run.
	Suite string `json:"suite"`
	Case  string `json:"case,omitempty"`
	// Path and Line are the position in the file.
	Path   string `json:"path"`
	Line   int    `json:"line,omitempty"`
	Status Status `json:"status"`
	// Took is the duration of the case without the start of its functions, which cases share.
	Took   Seconds `json:"seconds"`
	Reason string  `json:"reason,omitempty"`
	// NotRun is true for a case that did not run, or not to its end, because the run ended before.
	NotRun   bool      `json:"-"`
	Failures []Failure `json:"failures,omitempty"`
	// Partial lists the kinds that were validated by their structure only.
	Partial []string `json:"partial,omitempty"`
	// Updated lists the golden files that were written.
	Updated []string `json:"updated,omitempty"`
	// Trace shows what each step did, if the case failed and Options.Trace is set.
	Trace *report.Trace `json:"-"`

	// result is the output of the render. mocks are the mocks of the case. timedOut is true if the
	// case exceeded its timeout.
	item     Item
	result   session.Result
	timedOut bool
	mocks    map[string]spec.Mock
	// ran are the functions that the case called, without the functions of mocked steps.
	ran []session.Run
}

// Err returns the error of the render, or nil.
func (o Outcome) Err() error { return o.result.Err }

func newOutcome(item Item) Outcome {
	out := Outcome{Suite: item.Suite.Name, Path: item.Suite.Path, Status: Passed, item: item}
	if item.Case != nil {
		out.Case, out.Line = item.Case.Name, item.Case.Line()
	}
	return out
}

// notRun returns o as the outcome of a case that did not run, or not to its end.
func (o Outcome) notRun(cause error) Outcome {
	if errors.Is(cause, context.Canceled) { // The text of a signal names the signal.
		cause = errors.New("interrupted")
	}
	o.Status, o.Reason, o.Failures, o.NotRun = Skipped, "not run: "+cause.Error(), nil, true
	return o
}

// Ran describes how the named function was run, if a step called it that the case does not mock.
func (o Outcome) Ran(function string) (session.Run, bool) {
	i := slices.IndexFunc(o.ran, func(r session.Run) bool { return r.Function == function })
	if i < 0 {
		return session.Run{}, false
	}
	return o.ran[i], true
}

// Name returns "suite/case", or the suite's name.
func (o Outcome) Name() string {
	if o.Case == "" {
		return o.Suite
	}
	return o.Suite + "/" + o.Case
}

// fail adds the errors joined in err. An error that has a position keeps it.
func (o *Outcome) fail(path string, line int, err error) {
	o.Status = Failed
	all := splitJoined(err)
	own := slices.ContainsFunc(all, func(e error) bool { return hint.Of(e) != "" })
	for _, e := range all {
		f := Failure{Path: path, Line: line, Failure: check.Failure{Text: e.Error(), Hint: hint.Of(e)}}
		if !own { // A hint of the joined error applies to each of its errors.
			f.Hint = hint.Of(err)
		}
		if at, placed := positionIn(path, e); placed {
			f.Line, f.Text = at.Line, at.Err.Error()
		}
		o.Failures = append(o.Failures, f)
	}
}

// source returns the path of the field of the case that names the file with the first position in
// the text of err, the error of a render. It returns nil if there is none, or if a function
// returned err as a fatal result, because such a result can depend on any field of the case.
func (a *attempt) source(err error) (field []string) {
	if errors.As(err, new(*render.FatalError)) {
		return nil
	}
	f, text := a.form, " "+err.Error()
	first := len(text)
	for _, of := range []struct {
		name, what string
		sources    []spec.Source
	}{
		{"xr", "the composite resource", []spec.Source{{File: f.XR.File}}},
		{"composition", "the Composition", []spec.Source{f.Composition}},
		{"operation", "the Operation", []spec.Source{f.Operation}},
		{"watched", "the watched resource", []spec.Source{f.Watched}},
		{"xrd", "the XRD", []spec.Source{f.XRD}},
		{"functions", "functions", f.Functions},
		{"observed", "observed resources", f.Observed},
		{"required", "required resources", f.Required},
		{"extraResources", "extra resources", f.Extra},
		{"credentials", "function credentials", f.Credentials},
	} {
		loading := strings.HasPrefix(text, " loading "+of.what+": ")
		for i, s := range of.sources {
			for _, end := range []string{":", string(filepath.Separator)} {
				at := strings.Index(text, " "+a.path(s.File)+end)
				if s.File != "" && at >= 0 && (at < first || loading && at == first) {
					first, field = at, []string{of.name, fmt.Sprintf("[%d]", i)}
				}
			}
		}
	}
	return field
}

// positionIn returns err, without its hints, as an error with a position in the file path, and
// whether it is one.
func positionIn(path string, err error) (at *manifest.Error, ok bool) {
	ok = errors.As(err, &at) && at.Path == path && err.Error() == at.Error()
	return at, ok
}

func splitJoined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, e := range several.Unwrap() {
		all, texts = append(all, splitJoined(e)...), append(texts, e.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	return all
}

// Seconds is a duration that JSON has as a number of seconds.
type Seconds struct{ time.Duration }

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(s.Seconds()) }

// Spelled returns a copy of o. Its hints name options in the syntax that s returns.
func (o Outcome) Spelled(s hint.Speller) Outcome {
	o.Failures = slices.Clone(o.Failures)
	for i, f := range o.Failures {
		o.Failures[i].Hint = hint.Hint(f.Hint.Spell(s))
	}
	return o
}

// A Failure is one expectation that is not met, with its position in the file.
type Failure struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	// Inherited is true for an error in an input of the defaults. Each case has it.
	Inherited bool `json:"-"`
	check.Failure
}
