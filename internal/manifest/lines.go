package manifest

import (
	"bytes"
	"fmt"
	"iter"
	"sort"
	"strconv"
	"strings"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// Lines finds the lines of fields in a Document.
type Lines struct {
	doc  Document
	root *yamlv3.Node
	// chunks are the chunks of large lists that root does not have. In root, each is an
	// element with the scalar mark and the chunk's index.
	chunks []chunk
	// parsed is the chunk that was parsed last.
	parsed *parsedChunk
}

// A parsedChunk is the list in a chunk.
type parsedChunk struct {
	sync.Mutex
	index int
	list  *yamlv3.Node
}

// Lines parses the document. If it is not valid YAML, Lines.Of returns the
// first line of the document for every field.
func (d Document) Lines() Lines {
	l := Lines{doc: d, parsed: &parsedChunk{}}
	text := bytes.TrimSpace(d.Text)
	if !bytes.ContainsAny(text, "\n\r") {
		l.doc.Line = d.FirstLine() // All fields are on one line.
		return l
	}
	if canCompact(d.Text) && !hasAnchor(d.Text) {
		short := l.compact()
		if l.root = parseNodes(short); l.root != nil {
			return l
		}
		l.chunks = nil
	}
	l.root = parseNodes(d.Text)
	return l
}

// compact returns the text of the document with chunks replaced by as many lines, and sets
// l.chunks.
func (l *Lines) compact() []byte {
	var out []byte
	done := 0
	for k := range chunks(l.doc.Text) {
		out = append(out, l.doc.Text[done:k.start+k.indent]...)
		out = fmt.Appendf(out, "- [%s%d]", mark, len(l.chunks))
		out = append(out, bytes.Repeat([]byte("\n"), bytes.Count(l.doc.Text[k.start:k.end], []byte("\n")))...)
		l.chunks, done = append(l.chunks, k), k.end
	}
	return append(out, l.doc.Text[done:]...)
}

// parseNodes returns the value in text, or nil.
func parseNodes(text []byte) *yamlv3.Node {
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// nodesIn yields root, which may be nil, and the nodes in it, in their order. The bool is true for a
// key of an object.
func nodesIn(root *yamlv3.Node) iter.Seq2[*yamlv3.Node, bool] {
	return func(yield func(*yamlv3.Node, bool) bool) {
		var visit func(node *yamlv3.Node, isKey bool) bool
		visit = func(node *yamlv3.Node, isKey bool) bool {
			if !yield(node, isKey) {
				return false
			}
			for i, child := range node.Content {
				if !visit(child, node.Kind == yamlv3.MappingNode && i%2 == 0) {
					return false
				}
			}
			return true
		}
		if root != nil {
			visit(root, false)
		}
	}
}

// element returns the element of a list at an index, or nil if there is none.
func (l Lines) element(list *yamlv3.Node, index int) *yamlv3.Node {
	if len(l.chunks) == 0 && index >= 0 && index < len(list.Content) {
		return list.Content[index]
	}
	for _, node := range list.Content {
		elements := 1
		n, isChunk := l.chunkOf(node)
		if isChunk {
			elements = l.chunks[n].elements
		}
		switch {
		case index < 0:
			return nil
		case index >= elements:
			index -= elements
		case isChunk:
			return l.parse(n, index)
		default:
			return node
		}
	}
	return nil
}

// chunkOf returns the index of the chunk that an element replaces. The bool is false if it
// replaces none.
func (l Lines) chunkOf(element *yamlv3.Node) (int, bool) {
	if len(l.chunks) == 0 || element.Kind != yamlv3.SequenceNode || len(element.Content) != 1 {
		return 0, false
	}
	index, ok := strings.CutPrefix(element.Content[0].Value, mark)
	n, err := strconv.Atoi(index)
	return n, ok && err == nil && n < len(l.chunks)
}

// parse returns the element with an index of chunk n, or nil. Lines of its nodes are lines of
// the document.
func (l Lines) parse(n, index int) *yamlv3.Node {
	l.parsed.Lock()
	defer l.parsed.Unlock()
	if k := l.chunks[n]; l.parsed.list == nil || l.parsed.index != n {
		list := parseNodes(l.doc.Text[k.start:k.end])
		if list == nil || len(list.Content) != k.elements {
			return nil
		}
		above := bytes.Count(l.doc.Text[:k.start], []byte("\n"))
		for node := range nodesIn(list) {
			node.Line += above
		}
		l.parsed.index, l.parsed.list = n, list
	}
	return l.parsed.list.Content[index]
}

// Of returns the line in the file, counted from 1, of a field's key or a list's
// element, such as "spec.pipeline[0].step". For a field that does not exist, it
// returns the line of the nearest parent that exists; for an empty name, the
// line of the whole object. Keys may contain dots.
func (l Lines) Of(field string) int {
	line, _ := l.find(field)
	return line
}

// OfText returns the line in the file of a line, counted from 1, in the text of a field. If the
// text has no such line, it returns the line of the field.
func (l Lines) OfText(field string, line int) int {
	at, node := l.find(field)
	if node != nil && node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	switch {
	case node == nil || node.Kind != yamlv3.ScalarNode:
		return at
	case line <= strings.Count(node.Value, "\n")+1:
	case len(l.chunks) > 0: // The text may end with lines that were replaced.
		return Lines{doc: l.doc, root: parseNodes(l.doc.Text)}.OfText(field, line)
	default:
		return at
	}
	if node.Style&yamlv3.LiteralStyle != 0 {
		return l.doc.Line - 1 + node.Line + line
	}
	return l.doc.Line - 1 + node.Line + foldedLine(l.doc.Text, node, line)
}

// foldedLine returns the offset, in lines, from the first line of a scalar in text to the line
// that has the given line of the scalar's value, counted from 1. The scalar is not a literal
// block. The result is the first line up to which the value has that many lines.
func foldedLine(text []byte, node *yamlv3.Node, line int) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if node.Line > len(lines) {
		return 0
	}
	lines = lines[node.Line-1:]
	// Column counts characters.
	start := len(string([]rune(string(lines[0]))[:node.Column-1]))
	first := 0
	if node.Style&yamlv3.FoldedStyle != 0 {
		first = 1 // The line with ">" has no text.
	}
	return first + sort.Search(max(len(lines)-1-first, 0), func(n int) bool {
		n += first
		var begun struct{ Key string }
		part := append([]byte("key: "), bytes.Join(lines[:n+1], nil)[start:]...)
		if err := yamlv3.Unmarshal(closed(part, node.Style), &begun); err != nil {
			return true // The scalar ends before this line.
		}
		return strings.Count(strings.TrimRight(begun.Key, "\n"), "\n")+1 >= line
	})
}

// closed returns the beginning of a document with a scalar in this style, so that it is valid.
func closed(text []byte, style yamlv3.Style) []byte {
	text = bytes.TrimRight(text, "\r\n")
	switch {
	case style&yamlv3.SingleQuotedStyle != 0:
		return append(text, '\'')
	case style&yamlv3.DoubleQuotedStyle != 0:
		// A backslash at the end of a line joins it with the next one.
		if n := len(text) - len(bytes.TrimRight(text, `\`)); n%2 == 1 {
			text = text[:len(text)-1]
		}
		return append(text, '"')
	default:
		return text
	}
}

// find returns the line of a field, and the field's value. The value is nil if the field does
// not exist.
func (l Lines) find(field string) (int, *yamlv3.Node) {
	if l.root == nil {
		return l.doc.Line, nil
	}
	node, line := l.root, l.root.Line
	for node != nil && field != "" {
		if node.Kind == yamlv3.AliasNode {
			node = node.Alias
		}
		var at int
		if node, at, field = l.child(node, field); node != nil {
			line = at
		}
	}
	return l.doc.Line + line - 1, node
}

// child returns the child of node with which the path field begins, its line, and the rest
// of the path. If node has no such child, value is nil.
func (l Lines) child(node *yamlv3.Node, field string) (value *yamlv3.Node, line int, rest string) {
	switch node.Kind {
	case yamlv3.SequenceNode:
		index, rest, _ := strings.Cut(strings.TrimPrefix(field, "["), "]")
		if i, err := strconv.Atoi(index); err == nil {
			if element := l.element(node, i); element != nil {
				return element, element.Line, strings.TrimPrefix(rest, ".")
			}
		}
	case yamlv3.MappingNode:
		found := -1
		for i := 0; i+1 < len(node.Content); i += 2 {
			// The longest matching key is used. Of duplicate keys, the last one is used.
			key := node.Content[i].Value
			if key != "" && fieldpath.HasPrefix(field, key) && (found < 0 || len(key) >= len(node.Content[found].Value)) {
				found = i
			}
		}
		if found >= 0 {
			key := node.Content[found]
			return node.Content[found+1], key.Line, strings.TrimPrefix(field[len(key.Value):], ".")
		}
	}
	return nil, 0, ""
}
