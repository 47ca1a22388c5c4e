package gotemplating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
)

// rootName is the name of the input's template. The template can include itself
// by this name.
const rootName = "manifests"

// maxActions limits the number of actions in a template, because the parser
// recurses for each nested action.
const maxActions = 100_000

type programKey struct {
	text        string
	left, right string
	options     string
	unreleased  bool
	traced      bool
	covered     bool
}

func newProgramKey(text string, in *GoTemplate, unreleased bool) programKey {
	key := programKey{text: text, options: fmt.Sprintf("%q", in.Options), unreleased: unreleased}
	if d := in.Delims; d != nil && d.Left != nil && d.Right != nil {
		key.left, key.right = *d.Left, *d.Right
	}
	return key
}

// A program is a parsed template. The calls of enterFunction, leaveFunction and
// tickFunction that compile adds limit its use of the stack. Several executions
// may use a program concurrently.
type program struct {
	trees   map[string]*parse.Tree
	options []string
	// unreleased selects the functions that templates may call.
	unreleased bool
	// functions has the names of the functions that the program calls.
	functions map[string]bool
	// branches are the branches of the template if its coverage is measured.
	branches []branch
}

func compile(key programKey, options []string) (*program, error) {
	trees, err := parseTemplate(key)
	if err != nil {
		return nil, fmt.Errorf("invalid function input: cannot parse the provided templates: %w", err)
	}
	p := &program{trees: trees, options: options, unreleased: key.unreleased, functions: map[string]bool{}}
	if err := p.checkOptions(); err != nil {
		return nil, fmt.Errorf("cannot apply template options: %w", err)
	}
	if key.covered {
		p.cover(key.text)
	}
	for _, tree := range trees {
		if tree.Root == nil {
			continue
		}
		if key.traced {
			trace(tree.Root)
		}
		p.body(tree.Root)
	}
	return p, nil
}

func parseTemplate(key programKey) (map[string]*parse.Tree, error) {
	left := cmp.Or(key.left, "{{")
	switch {
	case len(key.text) > maxTemplate:
		return nil, errTemplateSize
	case strings.Count(key.text, left) > maxActions:
		return nil, fmt.Errorf("the template has more than %d actions", maxActions)
	}
	all := maps.Clone(known())
	maps.Copy(all, (&execution{unreleased: key.unreleased}).functions())
	t, err := template.New(rootName).Delims(key.left, key.right).Funcs(all).Parse(key.text)
	if err != nil {
		return nil, err
	}
	trees := map[string]*parse.Tree{rootName: t.Tree}
	for _, defined := range t.Templates() {
		trees[defined.Name()] = defined.Tree
	}
	return trees, nil
}

// checkOptions returns an error for an invalid option. text/template panics for one.
func (p *program) checkOptions() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic occurred while applying template options: %v", r)
		}
	}()
	template.New(rootName).Option(p.options...)
	return nil
}

// The functions whose calls compile adds to a program. Templates cannot call
// them, because the parser does not know their names.
const (
	enterFunction = "_enter" // called at the beginning of a template, with the template's weight
	leaveFunction = "_leave" // called at the end of a template, with the template's weight
	tickFunction  = "_tick"  // called at the beginning of each iteration of a loop
	coverFunction = "_cover" // called at the beginning of a branch, with its index
	markFunction  = "_mark"  // called before a text or an action of a traced program, with its position
)

// maxWeight limits the total weight of the templates that are running, in bytes
// of stack. Go limits a stack to 512 MiB.
const maxWeight = 256 << 20

// Weights of template nodes: their measured stack use in bytes, rounded up. Loops
// and includes have larger weights. The time to unwind an error grows with the
// square of their number, and each include makes the text of an error longer.
const (
	templateWeight = 512
	blockWeight    = 640
	pipeWeight     = 1600
	includeWeight  = 64 << 10
	rangeWeight    = 100 << 10
)

// body adds calls of enterFunction and leaveFunction to a template with the given root.
func (p *program) body(root *parse.ListNode) {
	weight := templateWeight + p.list(root)
	nodes := []parse.Node{action(root.Pos, enterFunction, weight)}
	nodes = append(nodes, root.Nodes...)
	root.Nodes = append(nodes, action(root.Pos, leaveFunction, weight))
}

// list adds calls of tickFunction to the loops in l. It returns the largest
// weight of a node in l.
func (p *program) list(l *parse.ListNode) int {
	heaviest := 0
	if l == nil {
		return heaviest
	}
	for _, node := range l.Nodes {
		heaviest = max(heaviest, p.node(node))
	}
	return heaviest
}

func (p *program) node(node parse.Node) int {
	switch n := node.(type) {
	case *parse.ActionNode:
		return p.pipe(n.Pipe, 0)
	case *parse.IfNode:
		return blockWeight + p.branch(&n.BranchNode)
	case *parse.WithNode:
		return blockWeight + p.branch(&n.BranchNode)
	case *parse.RangeNode:
		weight := rangeWeight + p.branch(&n.BranchNode)
		n.List.Nodes = append([]parse.Node{action(n.List.Pos, tickFunction)}, n.List.Nodes...)
		return weight
	case *parse.TemplateNode:
		return p.pipe(n.Pipe, 0)
	default:
		return 0
	}
}

func (p *program) branch(b *parse.BranchNode) int {
	return max(p.pipe(b.Pipe, 0), p.list(b.List), p.list(b.ElseList))
}

// pipe returns the weight of a pipeline. It is 0 if the pipeline includes no
// template. length is the length of the text of the outermost pipeline. It is 0
// if pipe is the outermost pipeline.
func (p *program) pipe(pipe *parse.PipeNode, length int) int {
	if pipe == nil {
		return 0
	}
	if length == 0 {
		length = len(pipe.String())
	}
	heaviest := 0
	for _, c := range pipe.Cmds {
		for _, arg := range c.Args {
			heaviest = max(heaviest, p.argument(arg, length))
		}
	}
	if heaviest > 0 {
		heaviest += pipeWeight
	}
	return heaviest
}

func (p *program) argument(node parse.Node, length int) int {
	switch n := node.(type) {
	case *parse.ChainNode:
		return p.argument(n.Node, length)
	case *parse.PipeNode:
		return p.pipe(n, length)
	case *parse.IdentifierNode:
		p.functions[n.Ident] = true
		if n.Ident == includeFunction {
			return includeWeight + length
		}
	}
	return 0
}

// action returns a template node that calls a function and outputs nothing.
func action(at parse.Pos, function string, args ...int) parse.Node {
	call := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at}
	call.Args = append(call.Args, parse.NewIdentifier(function).SetPos(at))
	for _, arg := range args {
		number := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: at, Text: strconv.Itoa(arg), IsInt: true, Int64: int64(arg)}
		call.Args = append(call.Args, number)
	}
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Cmds: []*parse.CommandNode{call}}
	nothing := &parse.ListNode{NodeType: parse.NodeList, Pos: at}
	return &parse.IfNode{BranchNode: parse.BranchNode{NodeType: parse.NodeIf, Pos: at, Pipe: pipe, List: nothing}}
}

// usual matches an action that only this function understands, in the usual delimiters.
var usual = proc.Regexp(`\{\{[^{}]*(?:\.observed\b|setResourceNameAnnotation|getCompositeResource|getComposedResource)`)

// CheckFolder returns an error, with its file and line, for syntax in the templates of a folder
// that no version of the function accepts. It does not check the names of functions, which depend
// on the version, and templates in other delimiters, which only an input names.
func CheckFolder(ctx context.Context, dir string) error {
	all, err := readTree(ctx, dir, ".", dir)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p part) bool { return fsx.IsEditorFile(filepath.Base(p.at.File)) })
	if !usual().MatchString(all.text()) {
		return nil
	}
	at, err := all.checkSyntax("", "")
	if err != nil {
		return &manifest.Error{Path: at.File, Line: at.Line, Err: err}
	}
	return nil
}

// CheckSyntax returns an error for syntax in an inline template that no version of the function
// accepts, the field of the input, and the line in its text, counted from 1. Like CheckFolder, it does
// not check the names of functions.
func (in *GoTemplate) CheckSyntax() (field string, line int, err error) {
	if in.Source != inlineSource {
		return "", 0, nil
	}
	all, err := in.Inline.parts()
	if err != nil {
		return "", 0, nil // The function reports it.
	}
	key := newProgramKey("", in, false)
	at, err := all.checkSyntax(key.left, key.right)
	return at.Field, at.Line, err
}

// checkSyntax returns the first error in the syntax of a template, and its place.
func (p parts) checkSyntax(left, right string) (sdk.Location, error) {
	text := p.text()
	t := parse.New(rootName)
	t.Mode = parse.SkipFuncCheck
	_, err := t.Parse(text, left, right, map[string]*parse.Tree{})
	if err == nil {
		return sdk.Location{}, nil
	}
	prefix, line := "template: "+rootName+":", 0
	if _, scanned := fmt.Sscanf(err.Error(), prefix+"%d:", &line); scanned != nil {
		return p.locate(1), err
	}
	message := strings.TrimPrefix(err.Error(), fmt.Sprintf("%s%d: ", prefix, line))
	if !strings.Contains(message, "unexpected EOF") {
		return p.locate(line), hint.Wrap(errors.New(message), Advice(message, nil))
	}
	at := p.locateOpen(line, left)
	if at.Detail != "" {
		message += ", " + at.Detail
	}
	return at, errors.New(message)
}
