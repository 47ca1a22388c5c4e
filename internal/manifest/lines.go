package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Lines finds the lines of fields in a Document.
type Lines struct {
	doc  Document
	root *yamlv3.Node
}

// Lines parses the document. If it is not valid YAML, Lines.Of returns the
// first line of the document for every field.
func (d Document) Lines() Lines {
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(d.Text, &doc); err != nil || len(doc.Content) == 0 {
		return Lines{doc: d}
	}
	return Lines{doc: d, root: doc.Content[0]}
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
	if node == nil || node.Kind != yamlv3.ScalarNode || line > strings.Count(node.Value, "\n")+1 {
		return at
	}
	if node.Style&yamlv3.LiteralStyle != 0 {
		return l.doc.Line - 1 + node.Line + line
	}
	return l.doc.Line - 1 + node.Line + foldedLine(l.doc.Text, node, line)
}

// foldedLine returns the number of lines from the first line of a scalar in text, which is not a
// literal block, to the one with a line, counted from 1, of the scalar's value. It is the first
// line up to which the scalar has that many lines.
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

// closed returns the begin of a document with a scalar in this style, so that it is valid.
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
		if node, at, field = child(node, field); node != nil {
			line = at
		}
	}
	return l.doc.Line + line - 1, node
}

// child returns the child of node with which the path field begins, its line, and the rest
// of the path. If node has no such child, value is nil.
func child(node *yamlv3.Node, field string) (value *yamlv3.Node, line int, rest string) {
	switch node.Kind {
	case yamlv3.SequenceNode:
		index, rest, _ := strings.Cut(strings.TrimPrefix(field, "["), "]")
		if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line, strings.TrimPrefix(rest, ".")
		}
	case yamlv3.MappingNode:
		found := -1
		for i := 0; i+1 < len(node.Content); i += 2 {
			// The longest matching key is used. Of duplicate keys, the last one is used.
			key := node.Content[i].Value
			if beginsWith(field, key) && (found < 0 || len(key) >= len(node.Content[found].Value)) {
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

// beginsWith reports whether key is the whole path field, or its beginning before a "." or
// "[".
func beginsWith(field, key string) bool {
	rest, ok := strings.CutPrefix(field, key)
	return ok && key != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// indentation returns the end of a message about a syntax error in a line of text, counted
// from 1. It says how far the line and the objects and lists that are open above it are
// indented. It returns "" if the line is indented like one of these.
func indentation(text []byte, line int) string {
	var open []int
	n := 0
	for l := range bytes.Lines(text) {
		if n++; n > line || Blank(l) {
			continue
		}
		content := bytes.TrimLeft(l, " ")
		indent := len(l) - len(content)
		if n == line {
			if slices.Contains(open, indent) || len(open) == 0 {
				return ""
			}
			return fmt.Sprintf(": the line is indented by %d, expected %s", indent, strings.Trim(strings.ReplaceAll(fmt.Sprint(open), " ", " or "), "[]"))
		}
		open = append(slices.DeleteFunc(open, func(i int) bool { return i >= indent }), indent)
		for bytes.HasPrefix(content, []byte("- ")) {
			rest := bytes.TrimLeft(content[1:], " ")
			indent += len(content) - len(rest)
			open, content = append(open, indent), rest
		}
	}
	return ""
}

// tabbed reports whether a line of text, counted from 1, has a tab before its first other
// character that is not a space.
func tabbed(text []byte, line int) bool {
	n := 0
	for l := range bytes.Lines(text) {
		if n++; n == line {
			return bytes.HasPrefix(bytes.TrimLeft(l, " "), []byte("\t"))
		}
	}
	return false
}

// keyWithoutSpace matches a line with a key and a value, but no space after the colon.
var keyWithoutSpace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ -]*([A-Za-z][A-Za-z0-9]*:[A-Za-z0-9][^:#]*?)\s*$`)
})

// missingSpace returns the end of a message about a syntax error in a line of text, counted
// from 1, if this line or the one before it lacks a space after a colon. Otherwise it returns "".
func missingSpace(text []byte, line int) string {
	n, found := 0, ""
	for l := range bytes.Lines(text) {
		if n++; n != line && n != line-1 {
			continue
		}
		if m := keyWithoutSpace().FindSubmatch(l); m != nil {
			found = fmt.Sprintf(": line %d has %q, expected a space after the colon", n, m[1])
		}
	}
	return found
}
