package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
)

// maxTypography limits the lines of a document that Typography returns, and maxSuspect the size in
// bytes of a document that it checks.
const (
	maxTypography = 5
	maxSuspect    = 1 << 20
)

const curly = "“”„‘’‚"

// Typography returns an error for each line in which a key or a value has typographic characters,
// which text from a web page often contains: special spaces around it or after its colon, or curly
// quotes around it. YAML reads these characters as a part of the key or value. Quoted values, values
// of several lines and large documents are not checked.
func (d Document) Typography() (all []error) {
	if len(d.Text) > maxSuspect || !mayHaveTypography(d.Text) || !slices.ContainsFunc(bytes.Split(d.Text, []byte("\n")), isSuspect) {
		return nil
	}
	last := 0
	var visit func(n *yamlv3.Node, asObject bool)
	visit = func(n *yamlv3.Node, asObject bool) {
		if text := typographyIn(n.Value, asObject); text != "" && n.Kind == yamlv3.ScalarNode && n.Style == 0 && n.Line != last && len(all) < maxTypography {
			last = n.Line
			all = append(all, &Error{Path: d.Path, Line: d.Line - 1 + n.Line, Err: fmt.Errorf("%q %s", n.Value, text)})
		}
		for i, child := range n.Content {
			isValue := n.Kind == yamlv3.MappingNode && i%2 == 1
			visit(child, n.Kind != yamlv3.SequenceNode && (!isValue || child.Line > n.Content[i-1].Line))
		}
	}
	if root := parseNodes(d.Text); root != nil {
		visit(root, true)
	}
	return all
}

// mayHaveTypography reports whether text has a byte with which a character of typography begins.
func mayHaveTypography(text []byte) bool {
	return bytes.Contains(text, []byte("\u00a0")) || bytes.IndexByte(text, 0xE2) >= 0 || bytes.IndexByte(text, 0xE3) >= 0
}

// isSuspect reports whether a line may have a character of typography around a key or value. Other
// lines need no YAML parser.
func isSuspect(line []byte) bool {
	if !mayHaveTypography(line) {
		return false
	}
	text, before := string(line), '\n'
	for i, r := range text {
		isOdd := isOddSpace(r)
		atStart := strings.ContainsRune("\n:-[{,", before)
		if atStart && (isOdd || strings.ContainsRune(curly, r)) || isOdd && strings.Trim(text[i+utf8.RuneLen(r):], " \r\n,]}:") == "" {
			return true
		}
		if r != ' ' && !isOdd {
			before = r
		}
	}
	return false
}

// typographyIn describes the typographic characters in an unquoted key or value, or returns "".
// asObject is true if the value is where an object or a list may begin. Elsewhere, it may be a text
// with a colon and another space, as in French.
func typographyIn(value string, asObject bool) string {
	const asPart = ", which YAML reads as a part of it"
	first, size := utf8.DecodeRuneInString(value)
	last, lastSize := utf8.DecodeLastRuneInString(value)
	switch {
	case isOddSpace(first):
		return fmt.Sprintf("begins with %s%s: replace it by a space, or remove it", nameOf(first), asPart)
	case isOddSpace(last):
		return fmt.Sprintf("ends with %s%s: remove it", nameOf(last), asPart)
	case strings.ContainsRune(curly, first) && strings.ContainsRune(curly, last) && len(value) > size && !strings.ContainsAny(value[size:len(value)-lastSize], curly):
		return fmt.Sprintf("is in curly quotes (%U)%s: write %q", first, asPart, strings.Trim(value, curly))
	}
	for i, r := range value {
		before := value[:i]
		if asObject && isOddSpace(r) && (before == "-" || strings.HasSuffix(before, ":") && !strings.Contains(before, " ")) {
			return fmt.Sprintf("has %s after %q, where YAML expects a space: replace it", nameOf(r), before)
		}
	}
	return ""
}

// isOddSpace reports whether r looks like a space, but is not a space for YAML.
func isOddSpace(r rune) bool { return r != ' ' && unicode.Is(unicode.Zs, r) || r == '\u200b' }

func nameOf(space rune) string {
	switch space {
	case '\u00a0':
		return "a no-break space (U+00A0)"
	case '\u200b':
		return "a zero-width space (U+200B)"
	}
	return fmt.Sprintf("the space %U", space)
}
