package manifest

import (
	"bytes"
	stdjson "encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// FromJSON decodes JSON into maps, lists and scalars. It decodes the long lists of
// scalars itself: the library needs up to 2.25 times the memory of a list, because it does not
// know the length, and several times the time.
func FromJSON(j []byte) (any, error) {
	var v any
	if short, lists := cutLists(j); len(lists) > 0 {
		err := json.Unmarshal(short, &v)
		return insertLists(v, lists), err
	}
	err := json.Unmarshal(j, &v)
	return v, err
}

// cutLists replaces the long lists of scalars in j by short ones that name their index in
// lists.
func cutLists(j []byte) (short []byte, lists [][]any) {
	if len(j) < minCompact || bytes.Contains(j, []byte(mark)) {
		return j, nil
	}
	done := 0
	for at := 0; at < len(j); at++ {
		switch j[at] {
		case '"':
			at += stringLength(j[at:]) - 1
		case '[':
			size, elements := scalarList(j[at:])
			if size < minPart {
				continue
			}
			list, ok := decodeScalars(j[at+1:at+size-1], elements)
			if !ok {
				return j, nil // for the library's error
			}
			short = append(append(short, j[done:at]...), `["`+mark+strconv.Itoa(len(lists))+`"]`...)
			lists = append(lists, list)
			done = at + size
			at = done - 1
		}
	}
	return append(short, j[done:]...), lists
}

// stringLength returns the length of the string in quotes at the start of j.
func stringLength(j []byte) int {
	for n := 1; n < len(j); n++ {
		switch j[n] {
		case '"':
			return n + 1
		case '\\':
			n++
		}
	}
	return len(j)
}

// scalarList returns the length of the list at the start of j in bytes and in elements. The
// length is 0 if the list contains lists or objects.
func scalarList(j []byte) (size, elements int) {
	elements = 1
	for n := 1; n < len(j); n++ {
		switch j[n] {
		case '"':
			n += stringLength(j[n:]) - 1
		case ',':
			elements++
		case ']':
			return n + 1, elements
		case '[', '{':
			return 0, 0
		}
	}
	return 0, 0
}

// decodeScalars decodes a number of scalars that are separated by commas. Successive equal
// scalars share memory.
func decodeScalars(j []byte, elements int) ([]any, bool) {
	list := make([]any, 0, elements)
	var last []byte
	for len(j) > 0 {
		n := 0
		if j[0] == '"' {
			n = stringLength(j)
		} else if n = bytes.IndexByte(j, ','); n < 0 {
			n = len(j)
		}
		if len(list) > 0 && bytes.Equal(j[:n], last) {
			list = append(list, list[len(list)-1])
		} else {
			v, ok := decodeScalar(j[:n])
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		last, j = j[:n], j[n:]
		if len(j) > 0 {
			if j[0] != ',' || len(j) == 1 {
				return nil, false
			}
			j = j[1:]
		}
	}
	return list, true
}

// decodeScalar decodes a scalar as the library does: a whole number that fits an int64 is
// an int64.
func decodeScalar(j []byte) (any, bool) {
	text := string(j)
	switch {
	case text == "null":
		return nil, true
	case text == "true", text == "false":
		return text == "true", true
	case !stdjson.Valid(j):
		return nil, false
	case text[0] == '"':
		var s string
		err := stdjson.Unmarshal(j, &s)
		return s, err == nil
	case !strings.ContainsAny(text, ".eE"):
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// insertLists replaces the lists that name an index by the list with that index.
func insertLists(v any, lists [][]any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			v[key] = insertLists(field, lists)
		}
	case []any:
		if len(v) == 1 {
			text, _ := v[0].(string)
			if index, ok := strings.CutPrefix(text, mark); ok {
				if n, err := strconv.Atoi(index); err == nil && n < len(lists) {
					return lists[n]
				}
			}
		}
		for i, element := range v {
			v[i] = insertLists(element, lists)
		}
	}
	return v
}
