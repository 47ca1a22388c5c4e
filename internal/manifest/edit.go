package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// A Change replaces lines of a file.
type Change struct {
	// From is the first replaced line, counted from 1, and To the line after the last. The
	// text is inserted before From if both are equal.
	From, To int
	Text     string
}

// Apply returns data with the change. It uses the line endings of data.
func (c Change) Apply(data []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	at := func(line int) int { return min(max(line-1, 0), len(lines)) }
	before, after := bytes.Join(lines[:at(c.From)], nil), bytes.Join(lines[at(c.To):], nil)
	text := c.Text
	if bytes.Contains(data, []byte("\r\n")) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		before = append(bytes.Clone(before), '\n')
	}
	return slices.Concat(before, []byte(text), after)
}

// InsertItem returns the change that inserts an item into a list, before the item with the
// index at. A negative index appends the item. The list is a path of keys such as
// "spec.pipeline"; missing objects and lists are created. The change keeps the comments and
// the layout of all other lines, except for lists and objects in flow style ("[a, b]"): then
// it formats the whole document, with its comments.
func (d Document) InsertItem(list string, at int, item any) (Change, error) {
	e, err := d.editor(list, item)
	if err != nil {
		return Change{}, err
	}
	if !e.block {
		return e.reformat(func(content []*yamlv3.Node, item *yamlv3.Node) []*yamlv3.Node {
			if at < 0 || at > len(content) {
				at = len(content)
			}
			return slices.Insert(content, at, item)
		})
	}
	if e.list == nil || len(e.list.Content) == 0 {
		return e.create()
	}
	line := e.end(e.list.Content[0].Line, e.list.Column, true)
	switch {
	case at == 0:
		// Comments above the first item remain with that item.
		line = e.key.Line + 1
	case at > 0 && at < len(e.list.Content):
		line = e.end(e.list.Content[at-1].Line, e.list.Column, false)
	}
	return e.change(line, line, e.list.Column-1), nil
}

// ReplaceItem returns the change that replaces the item of a list with the index i.
// Comments in the item are lost. Comments above it remain.
func (d Document) ReplaceItem(list string, i int, item any) (Change, error) {
	e, err := d.editor(list, item)
	if err != nil {
		return Change{}, err
	}
	if e.list == nil || i < 0 || i >= len(e.list.Content) {
		return Change{}, d.faultAt(1, fmt.Errorf("%s has no item %d", list, i))
	}
	if !e.block {
		return e.reformat(func(content []*yamlv3.Node, item *yamlv3.Node) []*yamlv3.Node {
			content[i] = item
			return content
		})
	}
	from := e.list.Content[i].Line
	return e.change(from, e.end(from, e.list.Column, false), e.list.Column-1), nil
}

// An editor changes one list of a document.
type editor struct {
	doc   Document
	root  *yamlv3.Node
	lines []string
	text  []byte
	// parent is the innermost object on the path that exists. missing has the keys of the
	// path that it lacks. If it lacks none, key and list are the field at the path.
	parent    *yamlv3.Node
	missing   []string
	key, list *yamlv3.Node
	// block is true if the list and all objects around it are in block style.
	block bool
}

func (d Document) faultAt(line int, err error) error {
	return &Error{Path: d.Path, Line: d.Line + line - 1, Err: err}
}

func (d Document) editor(list string, item any) (*editor, error) {
	data, err := json.Marshal(item)
	if err != nil {
		return nil, fmt.Errorf("encoding an item of %s: %w", list, err)
	}
	e := &editor{doc: d, lines: strings.Split(strings.TrimSuffix(string(d.Text), "\n"), "\n"), block: true}
	if e.text, err = JSONToYAML(data); err != nil {
		return nil, fmt.Errorf("encoding an item of %s: %w", list, err)
	}
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(d.Text, &doc); err != nil {
		return nil, d.fault(err)
	}
	if len(doc.Content) == 0 {
		return nil, d.faultAt(1, ErrEmpty)
	}
	e.root, e.parent, e.missing = &doc, doc.Content[0], strings.Split(list, ".")
	for {
		if e.parent.Kind != yamlv3.MappingNode {
			return nil, d.faultAt(e.parent.Line, fmt.Errorf("expected an object that has %s", strings.Join(e.missing, ".")))
		}
		e.block = e.block && e.parent.Style&yamlv3.FlowStyle == 0
		key, value := lookup(e.parent, e.missing[0])
		if value == nil {
			return e, nil
		}
		null := value.Tag == "!!null"
		if len(e.missing) == 1 {
			if value.Kind != yamlv3.SequenceNode && !null {
				return nil, d.faultAt(value.Line, fmt.Errorf("%s is not a list", list))
			}
			e.key, e.list, e.missing = key, value, nil
			e.block = e.block && value.Style&yamlv3.FlowStyle == 0 && !null && e.dashed()
			return e, nil
		}
		if null {
			e.block = false
			*value = yamlv3.Node{Kind: yamlv3.MappingNode}
		}
		e.parent, e.missing = value, e.missing[1:]
	}
}

// lookup returns the key and the value of a field. The value is nil if there is none.
func lookup(object *yamlv3.Node, name string) (key, value *yamlv3.Node) {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == name {
			key, value = object.Content[i], object.Content[i+1]
		}
	}
	return key, value
}

// dashed reports whether each item begins with the dash of a line of its own.
func (e *editor) dashed() bool {
	for _, item := range e.list.Content {
		if item.Line <= e.key.Line || item.Line > len(e.lines) {
			return false
		}
		if line := e.lines[item.Line-1]; indent(line) != e.list.Column-1 || line[e.list.Column-1] != '-' {
			return false
		}
	}
	return true
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// end returns the line after the item or field that begins at a line in a column. With all, it
// returns the line after the last item or field of the same list or object.
func (e *editor) end(line, column int, all bool) int {
	end := line + 1
	for at := line + 1; at <= len(e.lines); at++ {
		text := strings.TrimRight(e.lines[at-1], "\r")
		if strings.TrimSpace(text) == "" {
			continue
		}
		deep := indent(text)
		comment := text[deep] == '#'
		switch {
		case deep >= column && !(comment && all && deep < column):
		case comment && all && deep == column-1:
		case comment:
			continue
		case all && deep == column-1 && (e.list == nil || text[deep] == '-'):
		default:
			return end
		}
		end = at + 1
	}
	return end
}

// create returns the change that adds the list and the missing objects to the parent.
func (e *editor) create() (Change, error) {
	if e.list != nil || len(e.parent.Content) == 0 {
		return e.reformat(func(content []*yamlv3.Node, item *yamlv3.Node) []*yamlv3.Node { return append(content, item) })
	}
	column := e.parent.Column
	line := e.end(e.parent.Content[0].Line, column, true)
	var b strings.Builder
	for _, key := range e.missing {
		fmt.Fprintf(&b, "%s%s:\n", strings.Repeat(" ", column-1), key)
		column += 2
	}
	c := e.change(line, line, column-3)
	c.Text = b.String() + c.Text
	return c, nil
}

// change returns the change that puts the item into lines of the document.
func (e *editor) change(from, to, indent int) Change {
	var b strings.Builder
	prefix := strings.Repeat(" ", indent) + "- "
	for line := range strings.Lines(string(e.text)) {
		b.WriteString(prefix + line)
		prefix = strings.Repeat(" ", indent+2)
	}
	return Change{From: e.doc.Line + from - 1, To: e.doc.Line + to - 1, Text: b.String()}
}

// reformat returns the change that replaces the whole document. edit changes the items.
func (e *editor) reformat(edit func(items []*yamlv3.Node, item *yamlv3.Node) []*yamlv3.Node) (Change, error) {
	var item yamlv3.Node
	if err := yamlv3.Unmarshal(e.text, &item); err != nil {
		return Change{}, fmt.Errorf("encoding an item: %w", err)
	}
	list := e.list
	if list == nil {
		list = &yamlv3.Node{Kind: yamlv3.SequenceNode}
		value := list
		for _, key := range slices.Backward(e.missing[1:]) {
			value = &yamlv3.Node{Kind: yamlv3.MappingNode, Content: []*yamlv3.Node{{Kind: yamlv3.ScalarNode, Value: key}, value}}
		}
		e.parent.Content = append(e.parent.Content, &yamlv3.Node{Kind: yamlv3.ScalarNode, Value: e.missing[0]}, value)
		e.parent.Style &^= yamlv3.FlowStyle
	}
	content := edit(list.Content, item.Content[0])
	if e.key != nil && list.LineComment != "" {
		e.key.LineComment = list.LineComment
	}
	*list = yamlv3.Node{
		Kind: yamlv3.SequenceNode, Content: content, Anchor: list.Anchor,
		HeadComment: list.HeadComment, FootComment: list.FootComment,
	}
	var b bytes.Buffer
	enc := yamlv3.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(e.root); err != nil {
		return Change{}, fmt.Errorf("encoding the document: %w", err)
	}
	return Change{From: e.doc.Line, To: e.doc.Line + len(e.lines), Text: b.String()}, nil
}
