package dev

import (
	"slices"

	"github.com/xfn-dev/xfn/internal/dev/watch"
)

// A Command is a request of the user.
type Command int

const (
	// Again renders and tests, even if nothing changed.
	Again Command = iota
	// Accept tests and writes the golden files that differ.
	Accept
)

// A Plan is the work of a round.
type Plan struct {
	// Restart lists the packages of functions to restart.
	Restart []string
	// Render and Test select the work. Accept writes golden files.
	Render, Test, Accept bool
	// Changed lists the changed paths, without duplicates.
	Changed []string
}

// planOf returns the plan for changes. A source is one of a function, which
// renders and tests may call; other paths affect only what reads them.
func planOf(changes []watch.Change, renders, tests []string) Plan {
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
	return p.tidy()
}

// and returns the union of two plans.
func (p Plan) and(o Plan) Plan {
	return Plan{
		Restart: slices.Concat(p.Restart, o.Restart),
		Render:  p.Render || o.Render,
		Test:    p.Test || o.Test,
		Accept:  p.Accept || o.Accept,
		Changed: slices.Concat(p.Changed, o.Changed),
	}.tidy()
}

func (p Plan) tidy() Plan {
	for _, list := range []*[]string{&p.Restart, &p.Changed} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return p
}

// empty reports whether the plan has no work.
func (p Plan) empty() bool { return !p.Render && !p.Test }
