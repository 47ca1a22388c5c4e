package manifest

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/proc"
)

const (
	// minCompact is the least size in bytes of a document that is compacted. It is also the
	// usual size of a chunk.
	minCompact = 64 << 10
	// minPart is the least size in bytes of a part that is replaced.
	minPart = 4 << 10
	// maxNested limits the depth of nested lists that are compacted.
	maxNested = 20
	// mark begins the scalar that replaces a part.
	mark = "xfn-list-"
)

// toJSON converts a YAML document to JSON. If strict, a duplicate key is an error. The YAML
// library needs about 200 bytes for each scalar at the same time. Therefore toJSON converts
// the parts of a large document one after the other, and replaces them by short lists. It
// inserts the JSON of the parts after the conversion of the short document.
func toJSON(text []byte, strict bool) ([]byte, error) {
	convert := yaml.YAMLToJSON
	if strict {
		convert = yaml.YAMLToJSONStrict
	}
	if canCompact(text) {
		c := &compactor{convert: convert}
		if out, ok := c.document(text); ok {
			return out, nil
		}
	}
	return convert(text) // for the error with its line, or because brackets are in a string
}

// canCompact reports whether a document is large and has none of the characters that YAML
// libraries reject, change or read as the end of a line.
func canCompact(text []byte) bool {
	if len(text) < minCompact || !utf8.Valid(text) || bytes.Contains(text, []byte(mark)) {
		return false
	}
	odd := func(r rune) bool { return unlikeInYAML(r) || r == '\r' || r == '\u2028' || r == '\u2029' }
	for at, c := range text {
		if c == '\r' || c >= 0x7f {
			return !bytes.ContainsFunc(text[at:], odd)
		}
	}
	return true
}

// A compactor replaces parts of a YAML document.
type compactor struct {
	convert func([]byte) ([]byte, error)
	// parts are the replaced parts as JSON: a list or an object, or elements of a list
	// without brackets. A part that was inserted is nil.
	parts [][]byte
}

func (c *compactor) document(text []byte) ([]byte, bool) {
	short, ok := c.blocks(c.flows(text), 0)
	if !ok || len(c.parts) == 0 {
		return nil, false
	}
	out, err := c.convert(short)
	if err != nil {
		return nil, false
	}
	out, ok = c.expand(out)
	unused := slices.ContainsFunc(c.parts, func(part []byte) bool { return part != nil })
	return out, ok && !unused
}

// replace returns the flow sequence that replaces a part.
func (c *compactor) replace(part []byte) string {
	c.parts = append(c.parts, part)
	return "[" + mark + strconv.Itoa(len(c.parts)-1) + "]"
}

// flows replaces large lists and objects in flow style.
func (c *compactor) flows(text []byte) []byte {
	var out, part []byte
	done := 0
	for at := 0; ; {
		next := bytes.IndexAny(text[at:], "[{")
		if next < 0 {
			break
		}
		at += next
		if part == nil {
			part = make([]byte, 0, len(text)-at) // growing it would need several times the memory
		}
		var n int
		if part, n = flow(part[:0], text[at:], 0); n == 0 {
			at++
			continue
		}
		if n >= minPart {
			out = append(append(out, text[done:at]...), c.replace(bytes.Clone(part))...)
			done = at + n
		}
		at += n
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// blocks replaces chunks of lists in block style. If an element is larger than a chunk, it
// replaces chunks in the element. The bool is false if a chunk is not a list.
func (c *compactor) blocks(text []byte, depth int) ([]byte, bool) {
	var out []byte
	done := 0
	for k := range chunks(text) {
		whole := text[k.start:k.end]
		switch {
		case hasAnchor(whole):
			continue
		case k.elements == 1 && len(whole) > 2*minCompact && depth < maxNested:
			first := k.start + bytes.IndexByte(whole, '\n') + 1
			inner, ok := c.blocks(text[first:k.end], depth+1)
			if !ok {
				return nil, false
			}
			out = append(append(out, text[done:first]...), inner...)
		default:
			part, ok := c.elements(whole)
			if !ok {
				return nil, false
			}
			out = append(append(out, text[done:k.start+k.indent]...), "- "...)
			out = append(append(out, c.replace(part)...), '\n')
		}
		done = k.end
	}
	if done == 0 {
		return text, true
	}
	return append(out, text[done:]...), true
}

// elements returns the elements of a chunk as JSON, without brackets around them.
func (c *compactor) elements(chunk []byte) ([]byte, bool) {
	if part, ok := scalars(chunk); ok {
		return part, true
	}
	part, err := c.convert(chunk)
	if err != nil || part[0] != '[' {
		return nil, false
	}
	return c.expand(part[1 : len(part)-1])
}

// scalars is like elements, for a chunk that has a simple scalar on each line. A line that is
// indented more than the first one belongs to the scalar above it.
func scalars(chunk []byte) ([]byte, bool) {
	var part []byte
	dash := chunk[:bytes.IndexByte(chunk, '-')+1]
	for line := range bytes.Lines(chunk) {
		item, isItem := bytes.CutPrefix(line, dash)
		if !isItem {
			return nil, false
		}
		if item, isItem = bytes.CutPrefix(item, []byte(" ")); !isItem {
			return nil, false
		}
		if len(part) > 0 {
			part = append(part, ',')
		}
		var n int
		if part, n = scalar(part, item); n == 0 || string(item[n:]) != "\n" {
			return nil, false
		}
	}
	return part, true
}

// hasAnchor reports whether text may define an anchor.
func hasAnchor(text []byte) bool {
	for at, rest := 0, text; ; rest = text[at:] {
		next := bytes.IndexByte(rest, '&')
		if next < 0 {
			return false
		}
		at += next + 1
		if at == 1 || strings.IndexByte(" \t\n[{,:", text[at-2]) >= 0 {
			return true
		}
	}
}

var replaced = proc.Regexp(`\["` + mark + `(\d+)"\]`)

// expand inserts parts into the JSON of a document or a chunk. It returns false unless it
// finds each part exactly once and as a list. A part that is missing was in a comment or a
// string. A part that occurs twice is repeated by an alias, and only the library limits
// aliases.
func (c *compactor) expand(doc []byte) ([]byte, bool) {
	found := replaced().FindAllSubmatchIndex(doc, -1)
	if len(found) != bytes.Count(doc, []byte(mark)) {
		return nil, false
	}
	if len(found) == 0 {
		return doc, true
	}
	size := len(doc)
	for _, m := range found {
		if n, err := strconv.Atoi(string(doc[m[2]:m[3]])); err == nil && n < len(c.parts) {
			size += len(c.parts[n])
		}
	}
	out, done := make([]byte, 0, size), 0
	for _, m := range found {
		n, err := strconv.Atoi(string(doc[m[2]:m[3]]))
		if err != nil || n >= len(c.parts) || c.parts[n] == nil {
			return nil, false
		}
		out = append(append(out, doc[done:m[0]]...), c.parts[n]...)
		c.parts[n], done = nil, m[1]
	}
	return append(out, doc[done:]...), true
}

// A chunk is text[start:end] with consecutive whole elements of a list in block style.
type chunk struct {
	start, end int
	// last is the start of the last element.
	last int
	// indent is the number of spaces before the dashes.
	indent   int
	elements int
}

// chunks yields the chunks of the outermost lists that have at least minPart bytes. Lines
// in a string can look like a list. A chunk has about minCompact bytes, or one element.
func chunks(text []byte) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		none := chunk{indent: -1}
		c, at := none, 0
		for line := range bytes.Lines(text) {
			content := bytes.TrimLeft(line, " ")
			indent := len(line) - len(content)
			isElement := bytes.HasPrefix(content, []byte("- ")) || string(content) == "-\n"
			switch {
			case len(content) == 0 || content[0] == '\n' || content[0] == '#':
			case c.indent >= 0 && indent > c.indent:
			case isElement && indent == c.indent && at-c.start < minCompact:
				c.elements++
				c.last = at
			default:
				if !c.yield(yield) {
					return
				}
				if c = none; isElement {
					c = chunk{start: at, last: at, indent: indent, elements: 1}
				}
			}
			at += len(line)
			c.end = at
		}
		c.yield(yield)
	}
}

// yield yields c if it is large. If the last element of c is large, it yields this element
// separately.
func (c chunk) yield(each func(chunk) bool) bool {
	switch {
	case c.indent < 0 || c.end-c.start < minPart:
		return true
	case c.elements > 1 && c.end-c.last > minCompact:
		last := chunk{start: c.last, last: c.last, end: c.end, indent: c.indent, elements: 1}
		c.end, c.elements = c.last, c.elements-1
		return c.yield(each) && each(last)
	}
	return each(c)
}
