package gotemplating

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating/limit"
)

// rootName is the name of the input's template, by which it may include itself.
const rootName = "manifests"

// maxActions bounds how many actions a template has, and so how deep they nest:
// the parser calls itself for each block within a block.
const maxActions = 100_000

// A programKey is all that a program is made of.
type programKey struct {
	text        string
	left, right string
	options     string
}

func newProgramKey(text string, in *GoTemplate) programKey {
	key := programKey{text: text, options: fmt.Sprintf("%q", in.Options)}
	if d := in.Delims; d != nil && d.Left != nil && d.Right != nil {
		key.left, key.right = *d.Left, *d.Right
	}
	return key
}

// A program is a parsed template that asks for its budget. It is not changed
// once it is made, so that executions share it.
type program struct {
	trees   map[string]*parse.Tree
	options []string
	// functions are the names of those that it calls.
	functions map[string]bool
}

func compile(key programKey, options []string) (*program, error) {
	trees, err := parseTemplate(key)
	if err != nil {
		return nil, fmt.Errorf("invalid function input: cannot parse the provided templates: %w", err)
	}
	p := &program{trees: trees, options: options, functions: map[string]bool{}}
	if err := p.checkOptions(); err != nil {
		return nil, fmt.Errorf("cannot apply template options: %w", err)
	}
	for _, tree := range trees {
		if tree.Root != nil {
			p.body(tree.Root)
		}
	}
	return p, nil
}

// maxLookups bounds how often the parser compares the use of a variable with a
// declaration: it does so with all of them.
const maxLookups = 1 << 28

func parseTemplate(key programKey) (map[string]*parse.Tree, error) {
	left := key.left
	if left == "" {
		left = "{{"
	}
	switch {
	case len(key.text) > maxTemplate:
		return nil, errTemplateSize
	case strings.Count(key.text, left) > maxActions:
		return nil, fmt.Errorf("the template has more than %d actions", maxActions)
	case strings.Count(key.text, ":=")*strings.Count(key.text, "$") > maxLookups:
		return nil, errors.New("the template has too many variables")
	}
	known := maps.Clone(limit.Known())
	maps.Copy(known, (&execution{}).functions())
	t, err := template.New(rootName).Delims(key.left, key.right).Funcs(known).Parse(key.text)
	if err != nil {
		return nil, err
	}
	trees := map[string]*parse.Tree{rootName: t.Tree}
	for _, defined := range t.Templates() {
		trees[defined.Name()] = defined.Tree
	}
	return trees, nil
}

// checkOptions returns what text/template panics with.
func (p *program) checkOptions() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic occurred while applying template options: %v", r)
		}
	}()
	template.New(rootName).Option(p.options...)
	return nil
}

// The functions by which a program asks for its budget. No template can call
// them, as the parser does not know them.
const (
	enterFunction = "_enter"        // at the beginning of a template, with its height
	leaveFunction = "_leave"        // at its end
	tickFunction  = "_tick"         // at the beginning of each round of a loop
	printFunction = "_print"        // after a pipeline whose value is printed
	madeFunction  = "_madeByMethod" // with what a method makes that is given arguments
)

// A height is what an execution stands on while it is in another template that is
// called from somewhere within a node, and how deep loops nest in the node.
type height struct {
	stack int // bytes, 0 if no template is called
	loops int
}

// What the parts of a template take of the stack, in bytes. These are measured,
// and rounded up. An include takes more, and the text of its pipeline, because its
// error has these and the errors within: see execution.include.
const (
	templateStack = 512
	blockStack    = 640
	rangeStack    = 1280
	pipeStack     = 1600
	includeStack  = 64 << 10
)

// higher returns the larger of both, in both respects.
func (h height) higher(other height) height {
	return height{max(h.stack, other.stack), max(h.loops, other.loops)}
}

// on returns h on top of something, if it calls a template.
func (h height) on(stack int) height {
	if h.stack > 0 {
		h.stack += stack
	}
	return h
}

// body has a template ask for what it takes of the stack, and give it back.
func (p *program) body(root *parse.ListNode) {
	h := p.list(root)
	nodes := []parse.Node{action(root.Pos, enterFunction, h.stack, h.loops)}
	nodes = append(nodes, root.Nodes...)
	root.Nodes = append(nodes, action(root.Pos, leaveFunction, h.stack, h.loops))
}

// list instruments what is in a list of nodes.
func (p *program) list(l *parse.ListNode) height {
	h := height{}
	if l == nil {
		return h
	}
	for _, node := range l.Nodes {
		h = h.higher(p.node(node))
	}
	return h
}

func (p *program) node(node parse.Node) height {
	switch n := node.(type) {
	case *parse.ActionNode:
		h := p.pipe(n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			value := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{n.Pipe}}
			n.Pipe = pipeline(n.Pos, value, command(n.Pos, printFunction))
		}
		return h
	case *parse.IfNode:
		return p.branch(&n.BranchNode).on(blockStack)
	case *parse.WithNode:
		return p.branch(&n.BranchNode).on(blockStack)
	case *parse.RangeNode:
		h := p.branch(&n.BranchNode).on(rangeStack)
		n.List.Nodes = append([]parse.Node{action(n.List.Pos, tickFunction)}, n.List.Nodes...)
		return height{h.stack, h.loops + 1}
	case *parse.TemplateNode:
		return height{stack: templateStack}.higher(p.pipe(n.Pipe))
	default:
		return height{}
	}
}

func (p *program) branch(b *parse.BranchNode) height {
	return p.pipe(b.Pipe).higher(p.list(b.List)).higher(p.list(b.ElseList))
}

// pipe instruments a pipeline that is not part of another.
func (p *program) pipe(pipe *parse.PipeNode) height {
	if pipe == nil {
		return height{}
	}
	return p.commands(pipe, len(pipe.String()))
}

// commands instruments a pipeline that is part of a text of a length.
func (p *program) commands(pipe *parse.PipeNode, length int) height {
	h, fails := height{}, false
	var commands []*parse.CommandNode
	for i, c := range pipe.Cmds {
		for _, arg := range c.Args {
			h = h.higher(p.argument(arg, length))
		}
		commands = append(commands, c)
		fails = fails || isCalled(c, i > 0)
		if !fails && mayCallMethod(c, i > 0) {
			commands = []*parse.CommandNode{made(pipe.Pos, commands)}
			h = h.on(pipeStack)
		}
	}
	pipe.Cmds = commands
	return h.on(pipeStack)
}

// made returns a call of madeFunction with what commands make. That is its argument
// and not what comes before it, so that an error over the value is about the last
// argument of the method still. Errors that cite the call pass through plain.
func made(at parse.Pos, commands []*parse.CommandNode) *parse.CommandNode {
	c := command(at, madeFunction)
	c.Args = append(c.Args, pipeline(at, commands...))
	return c
}

func (p *program) argument(node parse.Node, length int) height {
	switch n := node.(type) {
	case *parse.ChainNode:
		return p.argument(n.Node, length).on(pipeStack)
	case *parse.PipeNode:
		return p.commands(n, length)
	case *parse.IdentifierNode:
		p.functions[n.Ident] = true
		if n.Ident == includeFunction {
			return height{stack: includeStack + length}
		}
	}
	return height{}
}

// isCalled reports whether a command gives arguments to a value in parentheses,
// which is an error that cites the pipeline.
func isCalled(c *parse.CommandNode, piped bool) bool {
	_, isPipe := c.Args[0].(*parse.PipeNode)
	return isPipe && (piped || len(c.Args) > 1)
}

// mayCallMethod reports whether a command is a method's call with arguments. One
// such as now.Format makes text, and is not among the functions.
func mayCallMethod(c *parse.CommandNode, piped bool) bool {
	switch c.Args[0].(type) {
	case *parse.FieldNode, *parse.ChainNode, *parse.VariableNode:
		return piped || len(c.Args) > 1
	default:
		return false
	}
}

// action returns an action without output that calls a function.
func action(at parse.Pos, function string, args ...int) parse.Node {
	pipe := pipeline(at, command(at, function, args...))
	nothing := &parse.ListNode{NodeType: parse.NodeList, Pos: at}
	return &parse.IfNode{BranchNode: parse.BranchNode{NodeType: parse.NodeIf, Pos: at, Pipe: pipe, List: nothing}}
}

func pipeline(at parse.Pos, commands ...*parse.CommandNode) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Cmds: commands}
}

func command(at parse.Pos, function string, args ...int) *parse.CommandNode {
	c := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at}
	c.Args = append(c.Args, parse.NewIdentifier(function).SetPos(at))
	for _, arg := range args {
		number := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: at, Text: strconv.Itoa(arg), IsInt: true, Int64: int64(arg)}
		c.Args = append(c.Args, number)
	}
	return c
}
