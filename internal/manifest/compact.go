package manifest

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

const (
	// minCompact is the least size in bytes of a document whose lists are compacted, and
	// minList that of a list.
	minCompact = 64 << 10
	minList    = 4 << 10
	// maxNested limits the depth of nested lists that are compacted.
	maxNested = 100
	// mark begins the scalar that replaces a list.
	mark = "xfn-list-"
)

// toJSON converts a YAML document to JSON. If strict, a duplicate key is an error. The YAML
// library needs about 200 bytes for each scalar, so toJSON converts large lists of simple
// scalars itself: it replaces them by short lists before the conversion, and inserts their
// JSON afterwards.
func toJSON(text []byte, strict bool) ([]byte, error) {
	convert := yaml.YAMLToJSON
	if strict {
		convert = yaml.YAMLToJSONStrict
	}
	if len(text) < minCompact || bytes.Contains(text, []byte(mark)) {
		return convert(text)
	}
	c := &compactor{}
	short := c.blocks(c.flows(text))
	if len(c.lists) == 0 {
		return convert(text)
	}
	if out, err := convert(short); err == nil {
		if out, ok := c.expand(out, len(text)); ok {
			return out, nil
		}
	}
	return convert(text) // for the error with its line, or because brackets are in a string
}

// A compactor replaces lists in YAML.
type compactor struct {
	// lists are the replaced lists as JSON: with brackets, or without them for a part of a
	// list in block style.
	lists [][]byte
}

// replace returns the flow sequence that replaces a list.
func (c *compactor) replace(list []byte) string {
	c.lists = append(c.lists, list)
	return "[" + mark + strconv.Itoa(len(c.lists)-1) + "]"
}

// flows replaces the large lists in flow style, such as [1, "a", [true]].
func (c *compactor) flows(text []byte) []byte {
	var out []byte
	done := 0
	for _, l := range flowLists(text) {
		if l.end-l.start < minList {
			continue
		}
		out = append(append(out, text[done:l.start]...), c.replace(withoutSpace(text[l.start:l.end]))...)
		done = l.end
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// A flowList is a list in flow style in text[start:end].
type flowList struct{ start, end int }

// flowLists returns the outermost lists of simple scalars and of such lists.
func flowLists(text []byte) (all []flowList) {
	var open []int
	needsValue := false // after a comma
	needsComma := false // after a value
	for i := 0; i < len(text); {
		b := text[i]
		switch {
		case b == '[' && len(open) < maxNested && (len(open) == 0 || !needsComma):
			open, needsValue, needsComma = append(open, i), false, false
			i++
		case len(open) == 0:
			next := bytes.IndexByte(text[i:], '[')
			if next < 0 {
				return all
			}
			i += next
		case b == ']' && !needsValue:
			start := open[len(open)-1]
			open = open[:len(open)-1]
			for len(all) > 0 && all[len(all)-1].start > start {
				all = all[:len(all)-1]
			}
			i++
			all = append(all, flowList{start, i})
			needsComma = true
		case b == ',' && needsComma:
			needsValue, needsComma = true, false
			i++
		case b == ' ' || b == '\n':
			i++
		default:
			n := simple(text[i:])
			if n == 0 || needsComma {
				open = open[:0]
				i++
				continue
			}
			needsValue, needsComma = false, true
			i += n
		}
	}
	return all
}

// simple returns the length of the scalar at the start of text, or 0. It accepts scalars
// that are the same in YAML and JSON: integers, true, false, null and strings in double
// quotes without escapes.
func simple(text []byte) int {
	n := 0
	switch {
	case text[0] == '"':
		for n = 1; n < len(text) && text[n] >= ' ' && text[n] <= '~' && !strings.ContainsRune(`"\<>&`, rune(text[n])); n++ {
		}
		if n == len(text) || text[n] != '"' {
			return 0
		}
		n++
	case bytes.HasPrefix(text, []byte("true")), bytes.HasPrefix(text, []byte("null")):
		n = len("true")
	case bytes.HasPrefix(text, []byte("false")):
		n = len("false")
	default:
		first := 0
		if text[0] == '-' {
			first = 1
		}
		for n = first; n < len(text) && text[n] >= '0' && text[n] <= '9'; n++ {
		}
		const maxDigits = 18 // each such number fits an int64
		if digits := n - first; digits == 0 || digits > maxDigits || text[first] == '0' && n > 1 {
			return 0
		}
	}
	if n < len(text) && !strings.ContainsRune(" \n,]", rune(text[n])) {
		return 0
	}
	return n
}

// withoutSpace returns a list without the white space between its elements.
func withoutSpace(list []byte) []byte {
	out := make([]byte, 0, len(list))
	quoted := false
	for _, b := range list {
		if b == '"' {
			quoted = !quoted
		}
		if quoted || b != ' ' && b != '\n' {
			out = append(out, b)
		}
	}
	return out
}

// blocks replaces runs of elements in block style, such as lines "- 1", by one element. The
// last line of a run remains, because the next line may continue its scalar.
func (c *compactor) blocks(text []byte) []byte {
	var out, run []byte
	done, start, indent, last := 0, 0, -1, 0
	end := func(at int) {
		if last-start >= minList {
			out = append(out, text[done:start]...)
			out = append(out, bytes.Repeat([]byte(" "), indent)...)
			out = append(append(append(out, "- "...), c.replace(run)...), '\n')
			done, run = last, nil
		}
		start, last, run = at, at, run[:0]
	}
	at := 0
	var value []byte // of the line before
	for line := range bytes.Lines(text) {
		content := bytes.TrimLeft(line, " ")
		spaces := len(line) - len(content)
		item, isItem := bytes.CutPrefix(content, []byte("- "))
		item, isWhole := bytes.CutSuffix(item, []byte("\n"))
		isItem = isItem && isWhole && len(item) > 0 && simple(item) == len(item)
		if value != nil && isItem && spaces == indent {
			if len(run) > 0 {
				run = append(run, ',')
			}
			run = append(run, value...)
			last = at
		} else {
			end(at)
		}
		if value = nil; isItem {
			value, indent = item, spaces
		}
		at += len(line)
	}
	end(at)
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

var replaced = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\["` + mark + `(\d+)"\]`) })

// expand inserts the lists into the JSON of the document. It returns false unless it finds
// each list once and as a list: one that is missing was in a comment or a string, and
// aliases, which the library limits, repeat one.
func (c *compactor) expand(doc []byte, size int) ([]byte, bool) {
	found := replaced().FindAllSubmatchIndex(doc, -1)
	if len(found) != bytes.Count(doc, []byte(mark)) {
		return nil, false
	}
	used := make([]bool, len(c.lists))
	out, done := make([]byte, 0, size), 0
	for _, m := range found {
		n, err := strconv.Atoi(string(doc[m[2]:m[3]]))
		if err != nil || n >= len(used) || used[n] {
			return nil, false
		}
		used[n] = true
		out = append(append(out, doc[done:m[0]]...), c.lists[n]...)
		done = m[1]
	}
	for _, u := range used {
		if !u {
			return nil, false
		}
	}
	return append(out, doc[done:]...), true
}
