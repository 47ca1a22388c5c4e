package gotemplating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"text/template/parse"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// trace adds calls of markFunction to a list of nodes and the lists in it.
func trace(l *parse.ListNode) {
	if l == nil {
		return
	}
	var nodes []parse.Node
	for _, node := range l.Nodes {
		switch n := node.(type) {
		case *parse.TextNode, *parse.ActionNode, *parse.TemplateNode:
			nodes = append(nodes, action(n.Position(), markFunction, int(n.Position())))
		case *parse.IfNode:
			traceBranch(&n.BranchNode)
		case *parse.WithNode:
			traceBranch(&n.BranchNode)
		case *parse.RangeNode:
			traceBranch(&n.BranchNode)
		}
		nodes = append(nodes, node)
	}
	l.Nodes = nodes
}

func traceBranch(b *parse.BranchNode) {
	trace(b.List)
	trace(b.ElseList)
}

// A place is a line in the output of a template, and the line of the template that wrote it. Lines are
// counted from 1. template is 0 if it is unknown. missing is the value that the template reads there,
// but that the request lacks, or "".
type place struct {
	output, template int
	missing          string
}

// maxTraced is the maximum size in bytes of an output whose origin is traced.
const maxTraced = 1 << 20

// remember caches the place of an error about a document in the output out of a template, for
// Locate.
func (r *runner) remember(ctx context.Context, err error, key programKey, options []string, req *fnv1.RunFunctionRequest, out string) {
	var of documentError
	if !errors.As(err, &of) || len(out) > maxTraced || strings.HasPrefix(strings.TrimSpace(out), "{") {
		return
	}
	r.places.Get(placeKey{message(err).Error(), sdk.SumOf(req.GetInput())}, func() place {
		offset, line := positionOf(out, of.index, errorLine(out, of))
		template, _ := origin(ctx, key, options, req, out, offset)
		return place{output: line, template: template}
	})
}

// A written is the output of a template, with the data for finding the line that wrote a part of
// the output.
type written struct {
	key     programKey
	options []string
	req     *fnv1.RunFunctionRequest
	text    string
	parts   parts
}

// locate returns the place of the line that wrote the output at an offset. If this line is unknown,
// it returns the place of the template. action is the template action in the line, or "".
func (o written) locate(ctx context.Context, offset int) (at sdk.Location, action string) {
	line := 0
	if len(o.text) <= maxTraced && !strings.HasPrefix(strings.TrimSpace(o.text), "{") {
		line, action = origin(ctx, o.key, o.options, o.req, o.text, offset)
	}
	if line == 0 && len(o.parts) > 1 {
		return sdk.Location{}, ""
	}
	return o.parts.locate(max(line, 1)), action
}

// noValue is the text that text/template prints for a value that does not exist.
const noValue = "<no value>"

// origins returns the Origin of the resources in documents. The place of the only noValue of a document
// has the action that printed it.
func (o written) origins(ctx context.Context, documents []document) composition.Origin {
	indexes := map[string]int{}
	for _, d := range documents {
		indexes[d.GetAnnotations()[nameAnnotation]] = d.index
	}
	return func(resource, _, text string) string {
		index, ok := indexes[resource]
		if !ok {
			return ""
		}
		begin, _ := positionOf(o.text, index, 0)
		end, _ := positionOf(o.text, index+1, 0)
		isOnly := text == noValue && strings.Count(o.text[begin:end], text) == 1
		if i := strings.Index(o.text[begin:end], text); i > 0 {
			begin += i
		}
		at, action := o.locate(ctx, begin)
		if isOnly && action != "" {
			at.Detail = "in " + action
		}
		return at.Place(ctx)
	}
}

// errorLine returns the line of an error in its document, counted from 1, or 0. For a syntax error, the
// message of the YAML decoder has the line before or that where the value begins.
func errorLine(out string, of documentError) int {
	if of.line == 0 {
		return 0
	}
	begin, _ := positionOf(out, of.index, 1)
	end, _ := positionOf(out, of.index+1, 1)
	begin = strings.LastIndexByte(out[:begin], '\n') + 1
	text, _, _ := strings.Cut(out[begin:max(begin, end)], "\n---")
	_, err := manifest.Document{Line: 1, Text: []byte(text)}.Value()
	if at, ok := errors.AsType[*manifest.Error](err); ok {
		return at.Line
	}
	return of.line
}

// positionOf returns the offset and the line in an output of the first text in a line of a
// document, or of the document if line is 0. It divides documents as the YAML decoder does.
func positionOf(out string, document, line int) (offset, at int) {
	size, begun, end := 0, 0, 0 // size is the size of the current document, and begun where it begins.
	for text := range strings.Lines(out) {
		begin := end
		end += len(text)
		at++
		if strings.HasPrefix(text, "---") && size > 0 {
			document, size, begun = document-1, 0, 0
			continue
		}
		size, begun = size+len(text), begun+1
		content := strings.TrimSpace(text)
		isFirst := line == 0 && content != "" && !strings.HasPrefix(content, "---") && !strings.HasPrefix(content, "#")
		if document == 0 && (isFirst || begun == line) {
			return begin + strings.Index(text, content), at
		}
	}
	return len(out), at
}

// origin executes the template again, and returns the line that wrote the output at an offset.
// It returns 0 if the output is not the same. action is the action that wrote the offset, with
// its delimiters, or "" for a text or an action of several lines.
func origin(ctx context.Context, key programKey, options []string, req *fnv1.RunFunctionRequest, out string, offset int) (line int, action string) {
	key.traced = true
	p, err := compile(key, options)
	if err != nil {
		return 0, ""
	}
	data, err := templateData(req)
	if err != nil {
		return 0, ""
	}
	again, e, err := p.execute(ctx, data)
	marks := e.marks
	after := sort.Search(len(marks), func(i int) bool { return marks[i].offset > offset })
	if err != nil || again != out || after == 0 {
		return 0, ""
	}
	m := marks[after-1]
	line = strings.Count(key.text[:m.node], "\n") + 1
	// A text that the template has at this position is written as it is.
	if written := out[m.offset:offset]; strings.HasPrefix(key.text[m.node:], written) {
		line += strings.Count(written, "\n")
	}
	left, right := cmp.Or(key.left, "{{"), cmp.Or(key.right, "}}")
	inside, _, _ := strings.Cut(key.text[m.node:], right)
	before := strings.TrimSuffix(strings.TrimRight(key.text[:m.node], " "), "-")
	if strings.HasSuffix(before, left) && !strings.Contains(inside, "\n") {
		action = left + " " + strings.TrimSpace(strings.TrimSuffix(inside, "-")) + " " + right
	}
	return line, action
}

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
