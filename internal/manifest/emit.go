package manifest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// foldColumn is the column after which the emitter of yaml/v2 breaks a line at a space.
	foldColumn = 80
	// maxSimpleKey is the length of the longest key without the indicator "?".
	maxSimpleKey = 128
)

// An emitter writes the same YAML as the emitter of yaml/v2, but needs less time and memory, because
// yaml/v2 keeps all events of a document. Its methods return false for values that only yaml/v2
// can write.
type emitter struct{ buf []byte }

// emit returns the YAML of a decoded JSON object whose numbers are json.Number.
func emit(v any) ([]byte, bool) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return nil, false
	}
	var e emitter
	if !e.mapping(m, 0) {
		return nil, false
	}
	return bytes.Clone(e.buf), true // Without the spare capacity.
}

// mapping writes the keys of m. The current line already has the indentation of the first key.
func (e *emitter) mapping(m map[string]any, indent int) bool {
	for i, key := range sortedKeys(m) {
		if i > 0 {
			e.indent(indent)
		}
		if len(key) > maxSimpleKey || strings.Contains(key, "\n") || !e.text(key, 0, true) {
			return false
		}
		e.buf = append(e.buf, ':')
		switch v := m[key].(type) {
		case map[string]any:
			if len(v) > 0 {
				e.buf = append(e.buf, '\n')
				e.indent(indent + 2)
				if !e.mapping(v, indent+2) {
					return false
				}
				continue
			}
		case []any:
			// The items of a list in a mapping have the indentation of the mapping.
			if len(v) > 0 {
				e.buf = append(e.buf, '\n')
				e.indent(indent)
				if !e.sequence(v, indent) {
					return false
				}
				continue
			}
		}
		if !e.scalar(m[key], indent+2) {
			return false
		}
	}
	return true
}

// sequence writes the items of a list. The current line already has the indentation.
func (e *emitter) sequence(list []any, indent int) bool {
	for i, item := range list {
		if i > 0 {
			e.indent(indent)
		}
		e.buf = append(e.buf, '-')
		ok := false
		switch v := item.(type) {
		case map[string]any:
			if len(v) == 0 {
				ok = e.scalar(v, indent+2)
				break
			}
			e.buf = append(e.buf, ' ')
			ok = e.mapping(v, indent+2)
		case []any:
			if len(v) == 0 {
				ok = e.scalar(v, indent+2)
				break
			}
			e.buf = append(e.buf, ' ')
			ok = e.sequence(v, indent+2)
		default:
			ok = e.scalar(v, indent+2)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (e *emitter) indent(n int) {
	for range n {
		e.buf = append(e.buf, ' ')
	}
}

// scalar writes a space, a value without elements, and a line break. indent is that of further lines.
func (e *emitter) scalar(v any, indent int) bool {
	e.buf = append(e.buf, ' ')
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case map[string]any:
		e.buf = append(e.buf, "{}"...)
	case []any:
		e.buf = append(e.buf, "[]"...)
	case json.Number:
		n, err := number(string(v))
		if err != nil {
			return false
		}
		switch n := n.(type) {
		case int64:
			e.buf = strconv.AppendInt(e.buf, n, 10)
		case uint64:
			e.buf = strconv.AppendUint(e.buf, n, 10)
		case float64:
			e.buf = strconv.AppendFloat(e.buf, n, 'g', -1, 64)
		}
	case string:
		if strings.Contains(v, "\n") {
			return e.literal(v, indent)
		}
		if !e.text(v, indent, false) {
			return false
		}
	default:
		return false
	}
	e.buf = append(e.buf, '\n')
	return true
}

// literal writes s as a literal block scalar, with its last line break.
func (e *emitter) literal(s string, indent int) bool {
	if s[0] == ' ' || s[0] == '\n' || strings.HasSuffix(s, "\n\n") || strings.HasSuffix(s, " ") || strings.Contains(s, " \n") || !printable(s) {
		return false
	}
	e.buf = append(e.buf, '|')
	body, ends := strings.CutSuffix(s, "\n")
	if !ends {
		e.buf = append(e.buf, '-')
	}
	e.buf = append(e.buf, '\n')
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			e.indent(indent)
		}
		e.buf = append(append(e.buf, line...), '\n')
	}
	return true
}

// text writes a string without line breaks: plain if possible, and otherwise quoted. indent is that of
// further lines. A key is not broken.
func (e *emitter) text(s string, indent int, isKey bool) bool {
	plain, known := resolvesToString(s)
	switch {
	case !known || !printable(s):
		return false
	case !plain:
		// These strings are numbers, words such as "yes", or empty, which are not broken.
		e.buf = append(append(append(e.buf, '"'), s...), '"')
	case plainAllowed(s):
		e.folded(s, indent, isKey, false)
	default:
		e.buf = append(e.buf, '\'')
		e.folded(s, indent, isKey, true)
		e.buf = append(e.buf, '\'')
	}
	return true
}

// folded writes s, which is in single quotes if quoted is true. In a value, it replaces a space after
// foldColumn with a line break.
func (e *emitter) folded(s string, indent int, isKey, quoted bool) {
	column := utf8.RuneCount(e.buf[bytes.LastIndexByte(e.buf, '\n')+1:])
	if isKey || column+2*len(s) <= foldColumn {
		if quoted {
			s = strings.ReplaceAll(s, "'", "''")
		}
		e.buf = append(e.buf, s...)
		return
	}
	spaces := false
	for i, r := range s {
		switch {
		case r == ' ' && !spaces && column > foldColumn && i > 0 && i < len(s)-1 && s[i+1] != ' ':
			e.buf = append(e.buf, '\n')
			e.indent(indent)
			column = indent
		case r == '\'' && quoted:
			e.buf, column = append(e.buf, "''"...), column+2
		default:
			e.buf, column = utf8.AppendRune(e.buf, r), column+1
		}
		spaces = r == ' '
	}
}

// printable reports whether s has only characters that yaml/v2 does not escape. It is false for
// some characters that are rare, too.
func printable(s string) bool {
	for _, r := range s {
		switch {
		case r == '\n', r >= ' ' && r <= '~':
		case r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xfffd:
			return false
		}
	}
	return true
}

// plainAllowed reports whether s, a printable string without line breaks, needs no quotes in a block mapping.
func plainAllowed(s string) bool {
	if strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") || strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") {
		return false
	}
	switch s[0] {
	case ' ', '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return false
	case '?', '-':
		if len(s) == 1 || s[1] == ' ' {
			return false
		}
	}
	return !strings.Contains(s, ": ") && !strings.Contains(s, " #")
}

// yamlFloat matches the numbers of yaml/v2 that are not integers.
var yamlFloat = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
})

// resolvesToString reports whether yaml/v2 reads s without quotes as a string. known is false for
// strings like timestamps and numbers of base 2 and 60, for which it does not find out.
func resolvesToString(s string) (is, known bool) {
	switch s {
	case "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF",
		"true", "True", "TRUE", "false", "False", "FALSE", ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF":
		return false, true
	}
	switch c := s[0]; {
	case c == '.':
		_, err := strconv.ParseFloat(s, 64)
		return err != nil, true
	case c != '+' && c != '-' && (c < '0' || c > '9'):
		return true, true
	case strings.Contains(s, ":"), len(s) > 4 && s[4] == '-':
		return false, false
	}
	plain := strings.ReplaceAll(s, "_", "")
	if strings.HasPrefix(strings.TrimLeft(plain, "+-"), "0b") {
		return false, false
	}
	if _, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return false, true
	}
	if _, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return false, true
	}
	if !yamlFloat().MatchString(plain) {
		return true, true
	}
	_, err := strconv.ParseFloat(plain, 64)
	return err != nil, true
}
