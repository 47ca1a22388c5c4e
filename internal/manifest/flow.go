package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// flow appends the JSON of the list or object in flow style at the start of text, such as
// [1, "a", {b: true}], and returns its length in text. The length is 0 if the list or object
// is not complete, or has something else than simple scalars, or a key twice.
func flow(out, text []byte, depth int) ([]byte, int) {
	if depth == maxFlow {
		return out, 0
	}
	isObject, end := text[0] == '{', byte(']')
	if isObject {
		end = '}'
	}
	out = append(out, text[0])
	var keys [][]byte
	for at := 1; ; {
		if at += spaces(text[at:]); at == len(text) {
			return out, 0
		}
		if text[at] == end && len(keys) == 0 && at == 1+spaces(text[1:]) {
			return append(out, end), at + 1
		}
		n := 0
		if isObject {
			start := len(out)
			if out, n = key(out, text[at:]); n == 0 {
				return out, 0
			}
			keys = append(keys, bytes.Clone(out[start:len(out)-1]))
			at += n
		}
		if out, n = value(out, text[at:], depth); n == 0 {
			return out, 0
		}
		at += n
		if at += spaces(text[at:]); at == len(text) || text[at] != ',' && text[at] != end {
			return out, 0
		}
		out = append(out, text[at])
		at++
		switch {
		case text[at-1] != end:
		case unique(keys):
			return out, at
		default:
			return out, 0
		}
	}
}

// maxFlow limits the depth of nested lists and objects.
const maxFlow = 64

func value(out, text []byte, depth int) ([]byte, int) {
	switch {
	case len(text) == 0:
		return out, 0
	case text[0] == '[' || text[0] == '{':
		return flow(out, text, depth+1)
	default:
		return scalar(out, text)
	}
}

// unique reports whether the keys differ. It changes keys.
func unique(keys [][]byte) bool {
	slices.SortFunc(keys, bytes.Compare)
	return len(slices.CompactFunc(keys, bytes.Equal)) == len(keys)
}

// key appends the key at the start of text and a colon, and returns their length in text
// with the white space after them, or 0.
func key(out, text []byte) ([]byte, int) {
	out, n := scalar(out, text)
	const maxKey = 1000 // The YAML library refuses longer keys.
	if n == 0 || n > maxKey || out[len(out)-1] != '"' || bytes.IndexByte(text[:n], '\\') >= 0 {
		return out, 0
	}
	space := 0
	if n < len(text) && text[n] == ':' {
		space = spaces(text[n+1:])
	}
	if n == len(text) || text[n] != ':' || space == 0 && text[0] != '"' {
		return out, 0
	}
	return append(out, ':'), n + 1 + space
}

func spaces(text []byte) int {
	n := 0
	for n < len(text) && (text[n] == ' ' || text[n] == '\n') {
		n++
	}
	return n
}

// scalar appends the JSON of the simple scalar at the start of text, and returns its length
// in text, or 0. Simple scalars are decimal numbers, true, false, null, strings in double
// quotes, and words.
func scalar(out, text []byte) ([]byte, int) {
	n := 0
	if len(text) == 0 {
		return out, 0
	}
	switch c := text[0]; {
	case c == '"':
		if n = quoted(text); n > 0 {
			out = append(out, text[:n]...)
		}
		return out, n
	case c == '-' || c >= '0' && c <= '9':
		out, n = decimal(out, text)
	default:
		for n < len(text) && (text[n] >= 'a' && text[n] <= 'z' || text[n] >= 'A' && text[n] <= 'Z' || n > 0 && text[n] >= '0' && text[n] <= '9') {
			n++
		}
		switch word := string(text[:n]); {
		case word == "true" || word == "false" || word == "null":
			out = append(out, word...)
		case slices.Contains(resolved, strings.ToLower(word)):
			return out, 0
		default:
			out = append(append(append(out, '"'), word...), '"')
		}
	}
	if n < len(text) && strings.IndexByte(" \n,]}:", text[n]) < 0 {
		return out, 0
	}
	return out, n
}

// resolved are the words that are not strings in YAML 1.1, in lower case.
var resolved = []string{"", "y", "n", "yes", "no", "on", "off", "true", "false", "null"}

// quoted returns the length of the string in double quotes at the start of text, or 0 if it
// is not the same in YAML and JSON.
func quoted(text []byte) int {
	for n := 1; n < len(text); n++ {
		switch c := text[n]; {
		case c == '"':
			return n + 1
		case c < ' ':
			return 0
		case c == '\\':
			if n++; n == len(text) || strings.IndexByte(`"\nt`, text[n]) < 0 {
				return 0
			}
		}
	}
	return 0
}

// decimal appends the number at the start of text as the YAML library does, and returns its
// length in text, or 0.
func decimal(out, text []byte) ([]byte, int) {
	n, points := 1, 0
	for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] == '.') {
		if text[n] == '.' {
			points++
		}
		n++
	}
	digits := bytes.TrimPrefix(text[:n], []byte("-"))
	const maxDigits = 18 // each such number fits an int64
	switch {
	case len(digits) == 0 || len(digits) > maxDigits || points > 1 || digits[len(digits)-1] == '.':
		return out, 0
	case digits[0] == '0' && len(digits) > 1 && digits[1] != '.', digits[0] == '.':
		return out, 0
	case points == 0 && string(text[:n]) == "-0":
		return out, 0
	case points == 0:
		return append(out, text[:n]...), n
	}
	f, err := strconv.ParseFloat(string(text[:n]), 64)
	if err != nil {
		return out, 0
	}
	number, err := json.Marshal(f)
	if err != nil {
		return out, 0
	}
	return append(out, number...), n
}
