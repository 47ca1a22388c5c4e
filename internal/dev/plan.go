package dev

import (
	"slices"

	"github.com/xfn-dev/xfn/internal/dev/watch"
)

// A Command is what somebody wants besides what changes ask for.
type Command int

const (
	// Again renders and tests, whether something changed or not.
	Again Command = iota
	// Accept tests, and writes the golden files that differ.
	Accept
)

// A Plan is what a round is to do.
type Plan struct {
	// Restart are the packages of functions that start anew.
	Restart []string
	// Render and Test say what is done; Accept that golden files are written.
	Render, Test, Accept bool
	// Changed are the paths that it is about, each once.
	Changed []string
}

// planOf returns what changes ask for. A source is that of a function, which both
// renders and tests may call; other paths matter to who reads them.
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

// and returns a plan that does both.
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

// empty reports whether there is nothing to do.
func (p Plan) empty() bool { return !p.Render && !p.Test }
