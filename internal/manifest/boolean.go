package manifest

import (
	"bytes"
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/xfn-dev/xfn/internal/hint"
)

// booleans are the words without quotes that Kubernetes reads as booleans, by YAML 1.1, although
// they rarely mean one.
var booleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// longestBoolean is the length of the longest text in booleans, in bytes.
const longestBoolean = 3

// Boolean returns the next step for a field whose value in the document is a word such as y, which
// YAML reads as a boolean, or "".
func (l Lines) Boolean(field string) hint.Hint {
	_, node := l.find(field)
	if !isBoolean(node) {
		return ""
	}
	return hint.Hint(meaning(node))
}

func isBoolean(node *yamlv3.Node) bool {
	if node == nil || node.Kind != yamlv3.ScalarNode || node.Style != 0 {
		return false
	}
	_, ok := booleans[node.Value]
	return ok
}

func meaning(node *yamlv3.Node) string {
	return fmt.Sprintf("%s means %t in YAML: write %q", node.Value, booleans[node.Value], node.Value)
}

// BooleanKeys returns an *Error for each key of the document that is a word such as y or on, which
// YAML reads as the key "true" or "false".
func (d Document) BooleanKeys() []*Error {
	if d.JSON != nil || !mayHaveBooleanKey(d.Text) {
		return nil
	}
	var found []*Error
	for node, isKey := range nodesIn(parseNodes(d.Text)) {
		if isKey && isBoolean(node) {
			found = append(found, &Error{d.Path, d.Line + node.Line - 1, fmt.Errorf("the key %s", meaning(node))})
		}
	}
	return found
}

// mayHaveBooleanKey reports whether a word of booleans is before a colon. It is much faster than a
// parser.
func mayHaveBooleanKey(text []byte) bool {
	for end := 0; ; end++ {
		n := bytes.IndexByte(text[end:], ':')
		if n < 0 {
			return false
		}
		end += n
		key := bytes.TrimRight(text[max(0, end-longestBoolean-1):end], " ")
		word := key[bytes.LastIndexAny(key, " \n\t{,")+1:]
		if _, ok := booleans[string(word)]; ok && (end+1 == len(text) || strings.IndexByte(" \n\r\t", text[end+1]) >= 0) {
			return true
		}
	}
}
