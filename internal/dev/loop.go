package dev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/session"
)

// Config configures the loop.
type Config struct {
	// Session configures the sessions in which renders and tests run. Inputs are
	// the inputs of renders. No input may be standard input.
	Session session.Config
	Inputs  session.Inputs
	// Suites are files and folders with test suites. If they contain no suite,
	// this is an error unless SuitesMayBeNone is true.
	Suites          []string
	SuitesMayBeNone bool
	// Images identifies the settings by which functions get their images, other than their
	// packages. If a refresh changes it, all functions are restarted.
	Images string
	// Refresh updates Session, Inputs and the sources of functions when files change.
	Refresh Refresh
	// Timeout limits the duration of a render. CaseTimeout limits the duration of a
	// test case that sets no timeout. Both include the start of functions.
	Timeout, CaseTimeout time.Duration
	// Poll looks for changes at intervals, without the change notifications of
	// the operating system.
	Poll bool
	Now  func() time.Time
}

// An Event is a message of the loop to the user interface. Exactly one field is set.
type Event struct {
	// Began is the plan of a round that has begun.
	Began *Plan
	// Step describes the stage that the current round has reached.
	Step  string
	Round *Round
	// Notice is a message about the loop itself, such as that it polls for changes.
	Notice string
}

// errChanged is the cause with which a round is canceled when a file changes.
var errChanged = errors.New("a file changed during a render")

// clockError is the maximum difference between the clocks of the file system and
// of the program.
const clockError = 10 * time.Millisecond

// Run runs rounds until ctx is done or commands is closed. The first round begins
// immediately, and each later one after a file change or a command. A command, or a file
// change unless the round accepts golden files, cancels the current round. Rounds never overlap.
//
// Run calls show for each event, one at a time. show must not block for long.
// When Run returns, all functions have stopped. Run returns the errors of show
// and of stopping functions.
func Run(ctx context.Context, c Config, commands <-chan Command, show func(Event) error) (err error) {
	l := &loop{config: c, pool: NewPool(c.Now), runtimes: map[session.Runtime]runtimes.Runtime{}, seen: map[string]bool{}}
	for name, r := range c.Session.Runtimes {
		l.runtimes[name] = l.pool.Runtime(string(name), r)
	}
	defer func() { err = errors.Join(err, l.pool.Close(ctx)) }()
	l.setExplicit()
	l.renders, l.tests = l.explicit, l.explicitTests
	var polling error
	l.watcher, polling = OpenWatcher(ctx, c.Poll)
	defer func() { err = errors.Join(err, l.watcher.Close()) }()
	if err := l.polls(polling, show); err != nil {
		return err
	}
	return l.run(ctx, commands, show)
}

func (l *loop) setExplicit() {
	c := l.config
	l.explicit = slices.Concat(c.Inputs.Paths(), c.Session.BuiltinOptions.Folders())
	if c.Session.Functions != "" {
		l.explicit = append(l.explicit, c.Session.Functions)
	}
	l.explicitTests = slices.Concat(c.Suites, c.Session.BuiltinOptions.Folders())
}

// A loop is the state that all rounds share.
type loop struct {
	config   Config
	pool     *Pool
	runtimes map[session.Runtime]runtimes.Runtime
	watcher  *Watcher

	// explicit and explicitTests are the paths that the user named. They are
	// always watched.
	explicit, explicitTests []string
	// renders and tests are the paths that renders and tests have read. The loop
	// watches them. last is their latest snapshot.
	renders, tests []string
	// trees are the paths in renders and tests that are folders in which all files count.
	trees []string
	last  Snapshot

	// n is the number of rounds that have begun. now is the plan of the current
	// round, and next the plan of the round after it.
	n         int
	now, next Plan
	// untested is true if the last round did not run all of its tests, because
	// a function did not start. The next round must run tests.
	untested bool
	began    time.Time
	running  chan Round
	steps    chan string
	cancel   context.CancelCauseFunc

	good       *Rendering
	goodN      int
	refreshErr error
	// seen has the notes that rounds have already shown.
	seen map[string]bool
}

func (l *loop) run(ctx context.Context, commands <-chan Command, show func(Event) error) error {
	l.began = l.config.Now()
	if _, err := l.detectChanges(ctx, show); err != nil {
		return err
	}
	l.next = Plan{Render: true, Test: true}
	defer l.abandon()
	for {
		if l.running == nil && !l.next.empty() {
			if err := l.begin(ctx, show); err != nil {
				return err
			}
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-l.watcher.C:
			err = l.changed(ctx, show)
		case c, ok := <-commands:
			if !ok {
				return nil
			}
			l.command(c)
		case step := <-l.steps:
			err = show(Event{Step: step})
		case r := <-l.running:
			err = l.finish(ctx, r, show)
		}
		if err != nil {
			return err
		}
	}
}

func (l *loop) begin(ctx context.Context, show func(Event) error) error {
	if !l.next.Refresh {
		l.n++
	}
	l.next.Test = l.next.Test || l.untested
	l.now, l.next = l.next, Plan{}
	l.began = l.config.Now()
	ctx, l.cancel = context.WithCancelCause(ctx)
	l.running, l.steps = make(chan Round, 1), make(chan string, 1)
	go func(n int, p Plan, steps chan<- string, done chan<- Round) {
		done <- l.do(ctx, n, p, func(text string) {
			select {
			case steps <- text:
			default: // the step is dropped if the loop has not shown the previous step
			}
		})
	}(l.n, l.now, l.steps, l.running)
	return show(Event{Began: &l.now})
}

func (l *loop) abandon() {
	if l.running == nil {
		return
	}
	l.cancel(context.Canceled)
	<-l.running
	l.running = nil
}

// changed looks for file changes. If there are any, it cancels the current round,
// and adds its plan to the plan of the next round. It waits for the end of a round that
// accepts golden files, because only that round knows which changes are its own.
func (l *loop) changed(ctx context.Context, show func(Event) error) error {
	if l.running != nil && l.now.Accept {
		return nil // finish looks for changes, too.
	}
	changes, err := l.detectChanges(ctx, show)
	if err != nil {
		return err
	}
	l.ask(l.planOf(changes))
	return nil
}

func (l *loop) command(c Command) {
	switch c {
	case Again:
		l.ask(Plan{Render: true, Test: true})
	case Accept:
		l.ask(Plan{Test: true, Accept: true})
	}
}

func (l *loop) ask(p Plan) {
	if p.empty() {
		return
	}
	l.next = l.next.and(p)
	// The files that a refresh writes do not cancel it.
	if l.running != nil && (p.Refresh || !l.now.Refresh) {
		l.cancel(errChanged)
		l.next = l.next.and(l.now)
	}
}

// finish handles a round that has ended. It does not show a canceled round.
func (l *loop) finish(ctx context.Context, r Round, show func(Event) error) error {
	l.cancel(nil)
	l.running = nil
	if r.Plan.Refresh {
		return l.refreshed(ctx, r, show)
	}
	l.remember(r)
	if !l.next.empty() {
		return nil
	}
	changes, err := l.detectChanges(ctx, show)
	if err != nil {
		return err
	}
	l.ask(l.planOf(slices.DeleteFunc(changes, r.Tested.wrote)))
	if r.Rendered != nil && r.Rendered.Err == nil && (r.Plan.Test || len(l.config.Suites) == 0) {
		l.pool.DropUnused(ctx)
	}
	l.compare(&r)
	r.RefreshErr = l.refreshErr
	r.Files, r.Folders = l.last.Count()
	return show(Event{Round: &r})
}

// remember adds the files that a round has read to the watched files. After a
// complete round, the files that the round did not read are no longer watched.
func (l *loop) remember(r Round) {
	whole := l.next.empty()
	l.trees = union(l.trees, r.trees)
	if r.Rendered != nil {
		l.renders = watched(l.renders, r.renders, whole && r.Rendered.Err == nil, l.explicit)
	}
	if r.Plan.Test {
		l.untested = r.Tested != nil && r.Tested.Missing != nil
	}
	if r.tests != nil {
		l.tests = watched(l.tests, r.tests, whole && r.Tested != nil && r.Tested.Err == nil && r.Tested.Missing == nil, l.explicitTests)
	}
	l.trees = slices.DeleteFunc(l.trees, func(path string) bool {
		return !slices.Contains(l.renders, path) && !slices.Contains(l.tests, path)
	})
}

func watched(before, now []string, whole bool, always []string) []string {
	if !whole {
		now = union(now, before)
	}
	return union(now, always)
}

func (l *loop) compare(r *Round) {
	r.Notes = slices.DeleteFunc(r.Notes, func(n string) bool {
		seen := l.seen[n]
		if len(l.seen) < maxSeen {
			l.seen[n] = true
		}
		return seen
	})
	if r.Rendered != nil && r.Rendered.Err == nil {
		var before []map[string]any
		if l.good != nil {
			before = l.good.Documents
		}
		r.Rendered.Diff = report.Compare(before, r.Rendered.Documents)
		r.Rendered.First = l.good == nil
		l.good, l.goodN = r.Rendered, r.N
	}
	r.Good, r.GoodN = l.good, l.goodN
}

// maxSeen is the maximum number of notes in loop.seen.
const maxSeen = 10_000

// detectChanges returns the changes since the last snapshot. It takes a new
// snapshot, and watches the folders in the new snapshot.
func (l *loop) detectChanges(ctx context.Context, show func(Event) error) ([]Change, error) {
	targets := Targets{
		Paths: union(l.renders, l.tests, l.config.Refresh.Paths), Sources: l.sources(),
		Folders: slices.Concat(l.config.Session.BuiltinOptions.Folders(), l.config.Refresh.Folders, l.trees),
	}
	former := l.last
	for range 3 { // A change in a new folder is missed until the folder is watched.
		l.last = TakeSnapshot(targets, former, l.config.Now())
		fresh, err := l.watcher.Watch(ctx, l.last.Dirs)
		if err := l.polls(err, show); err != nil {
			return nil, err
		}
		if !fresh {
			break
		}
	}
	return l.last.Since(former, l.began.Add(-clockError)), nil
}

// polls shows a notice that the loop polls for changes because of the error why.
// If why is nil, it shows nothing.
func (l *loop) polls(why error, show func(Event) error) error {
	if why == nil {
		return nil
	}
	return show(Event{Notice: fmt.Sprintf("polling for changes every %s: %v", pollInterval, why)})
}

// union returns the elements of lists sorted, without duplicates.
func union(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// A Command is a request of the user to the loop.
type Command int

const (
	// Again requests a round that renders and tests, even without changes.
	Again Command = iota
	// Accept requests a round that tests, and writes the golden files that differ.
	Accept
)

// A Plan says what a round does.
type Plan struct {
	// Restart lists the packages of the functions that the round restarts.
	Restart []string
	// Render and Test say whether the round renders and tests. Accept says
	// whether it writes golden files that differ.
	Render, Test, Accept bool
	// Refresh is true if a refresh precedes the round.
	Refresh bool
	// Changed lists the changed paths that are shown to the user, without duplicates.
	Changed []string
}

// planOf returns the plan for file changes. A change in the source of a function
// triggers a render and tests. A change of any other path triggers a render if
// renders contains the path, and tests if tests contains it.
func planOf(changes []Change, renders, tests []string) Plan {
	var p Plan
	for _, c := range changes {
		p.Changed = append(p.Changed, c.Path)
		if c.Source != "" {
			p.Restart = append(p.Restart, c.Source)
			p.Render, p.Test = true, true
			continue
		}
		p.Render = p.Render || slices.Contains(renders, c.Path)
		p.Test = p.Test || slices.Contains(tests, c.Path)
	}
	return p.and(Plan{})
}

func (p Plan) and(o Plan) Plan {
	return Plan{
		Restart: union(p.Restart, o.Restart),
		Render:  p.Render || o.Render,
		Test:    p.Test || o.Test,
		Accept:  p.Accept || o.Accept,
		Refresh: p.Refresh || o.Refresh,
		Changed: union(p.Changed, o.Changed),
	}
}

func (p Plan) empty() bool { return !p.Render && !p.Test }
