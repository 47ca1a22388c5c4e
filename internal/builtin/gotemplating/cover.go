package gotemplating

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// A branch is a part of a template that runs under a condition, or is defined.
type branch struct {
	// line is its line in the template, counted from 1. name is "if", "else", "with",
	// "range", or "define NAME".
	line int
	name string
}

// cover finds the branches of the program, and adds calls of coverFunction to them. A condition
// or loop without an else gets one that writes nothing.
func (p *program) cover(text string) {
	c := coverer{text: text, named: map[branch]int{}}
	names := slices.Sorted(maps.Keys(p.trees))
	for _, name := range names {
		if root := p.trees[name].Root; root != nil {
			c.list(root)
		}
	}
	for _, name := range names {
		if root := p.trees[name].Root; root != nil && name != rootName {
			begin(root, c.add(root, "define "+name))
		}
	}
	p.branches = c.branches
}

type coverer struct {
	text     string
	branches []branch
	// named counts the branches of each name on each line.
	named map[branch]int
}

// add adds a branch, and returns its index. The second branch of a name on a line is "NAME #2".
func (c *coverer) add(l *parse.ListNode, name string) int {
	at := min(int(l.Position()), len(c.text))
	b := branch{1 + strings.Count(c.text[:at], "\n"), name}
	if c.named[b]++; c.named[b] > 1 {
		b.name = fmt.Sprintf("%s #%d", name, c.named[b])
	}
	c.branches = append(c.branches, b)
	return len(c.branches) - 1
}

// begin adds a call of coverFunction for a branch before the nodes of its list.
func begin(l *parse.ListNode, branch int) {
	l.Nodes = slices.Concat([]parse.Node{action(l.Position(), coverFunction, branch)}, l.Nodes)
}

func (c *coverer) list(l *parse.ListNode) {
	for _, node := range l.Nodes {
		switch n := node.(type) {
		case *parse.IfNode:
			c.branch(&n.BranchNode, "if")
		case *parse.WithNode:
			c.branch(&n.BranchNode, "with")
		case *parse.RangeNode:
			c.branch(&n.BranchNode, "range")
		}
	}
}

func (c *coverer) branch(b *parse.BranchNode, name string) {
	taken := c.add(b.List, name)
	c.list(b.List)
	begin(b.List, taken)
	if b.ElseList == nil {
		b.ElseList = &parse.ListNode{NodeType: parse.NodeList, Pos: b.Position()}
	}
	if isElseIf(b.ElseList) {
		c.list(b.ElseList)
		return
	}
	other := c.add(b.ElseList, "else")
	c.list(b.ElseList)
	begin(b.ElseList, other)
}

// isElseIf reports whether an else has only another condition. The branches of that condition show
// whether the else ran.
func isElseIf(l *parse.ListNode) bool {
	if len(l.Nodes) != 1 {
		return false
	}
	switch l.Nodes[0].(type) {
	case *parse.IfNode, *parse.WithNode:
		return true
	}
	return false
}

// pointsKey identifies a program and the place of its template.
type pointsKey struct {
	programKey
	at sdk.Location
}

// points returns the points of a program's branches.
func (r *runner) points(key programKey, all parts, p *program) []sdk.Point {
	at := sdk.Location{}
	if len(all) > 0 {
		at = all[0].at
	}
	return r.covered.Get(pointsKey{key, at}, func() []sdk.Point {
		points := make([]sdk.Point, len(p.branches))
		for i, b := range p.branches {
			at := all.locate(b.line)
			points[i] = sdk.Point{Kind: sdk.TemplateBranch, Path: at.Field, File: at.File, Line: at.Line, Branch: b.name}
		}
		return points
	})
}

// report reports the points of a program, and which of these points ran.
func report(to sdk.Coverage, points []sdk.Point, ran map[int]bool) {
	to.Known(points)
	for i := range ran {
		to.Hit(points[i])
	}
}
