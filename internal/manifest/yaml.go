package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
)

// JSONToYAML converts JSON of encoding/json to YAML like sigs.k8s.io/yaml, but faster, and
// with a stable order of keys. The order of sigs.k8s.io/yaml is random where digits and
// letters mix ("9" < "10" < "1a" < "9").
func JSONToYAML(in []byte) ([]byte, error) {
	var data any
	var err error
	if bytes.ContainsFunc(in, unlikeInYAML) {
		err = yamlv2.Unmarshal(in, &data)
	} else {
		dec := json.NewDecoder(bytes.NewReader(in))
		dec.UseNumber()
		err = dec.Decode(&data)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding JSON: %w", err)
	}
	if data, err = ordered(data); err != nil {
		return nil, err
	}
	return yamlv2.Marshal(data)
}

// CheckJSON returns the error that JSONToYAML returns for valid JSON.
func CheckJSON(in []byte) error {
	if !bytes.ContainsFunc(in, unlikeInYAML) {
		return nil
	}
	_, err := JSONToYAML(in)
	return err
}

// unlikeInYAML reports whether a character is valid in JSON, but rejected or
// changed by YAML readers.
func unlikeInYAML(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// ordered returns a JSON value with sorted keys, and with numbers converted to
// the types to which YAML readers convert them.
func ordered(v any) (_ any, err error) {
	switch v := v.(type) {
	case map[string]any:
		return orderedMap(v)
	case map[any]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[fmt.Sprint(key)] = value
		}
		return orderedMap(m)
	case []any:
		if v == nil {
			return nil, nil
		}
		list := make([]any, len(v))
		for i, value := range v {
			if list[i], err = ordered(value); err != nil {
				return nil, err
			}
		}
		return list, nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e21 { // JSON has no exponent.
			return number(strconv.FormatFloat(v, 'f', -1, 64))
		}
	case json.Number:
		return number(string(v))
	}
	return v, nil
}

func orderedMap(m map[string]any) (any, error) {
	if m == nil {
		return nil, nil
	}
	// naturally is not transitive for some keys. Sorting the keys by their bytes first makes
	// the order stable.
	keys := Keys(m)
	slices.SortStableFunc(keys, naturally)
	items := make(yamlv2.MapSlice, len(keys))
	for i, key := range keys {
		value, err := ordered(m[key])
		if err != nil {
			return nil, err
		}
		items[i] = yamlv2.MapItem{Key: key, Value: value}
	}
	return items, nil
}

// Keys returns the keys of m in ascending order. It allocates once, unlike slices.Sorted, whose slice
// grows several times: renders sort the keys of hundreds of small objects.
func Keys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func number(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("decoding the number %s: %w", text, err)
	}
	return f, nil
}

// naturally compares two keys like yaml/v2. After their common prefix, letters
// are greater than other characters, and digits are compared as numbers.
func naturally(a, b string) int {
	x, y := []rune(a), []rune(b)
	at := 0
	for at < len(x) && at < len(y) && x[at] == y[at] {
		at++
	}
	if at == len(x) || at == len(y) {
		return cmp.Compare(len(x), len(y))
	}
	switch xl, yl := unicode.IsLetter(x[at]), unicode.IsLetter(y[at]); {
	case xl && yl:
		return cmp.Compare(x[at], y[at])
	case xl:
		return 1
	case yl:
		return -1
	}
	var lead int64
	if (x[at] == '0' || y[at] == '0') && inNumber(x[:at]) {
		lead = 1
	}
	m, mDigits := leadingNumber(x[at:], lead)
	n, nDigits := leadingNumber(y[at:], lead)
	return cmp.Or(cmp.Compare(m, n), cmp.Compare(mDigits, nDigits), cmp.Compare(x[at], y[at]))
}

// inNumber reports whether text ends in digits that are not all zero.
func inNumber(text []rune) bool {
	for _, r := range slices.Backward(text) {
		if !unicode.IsDigit(r) {
			return false
		}
		if r != '0' {
			return true
		}
	}
	return false
}

// leadingNumber returns the number at the beginning of text, and how many
// digits it has there. If lead is not 0, it is used as a digit before the text.
func leadingNumber(text []rune, lead int64) (n int64, digits int) {
	n = lead
	for ; digits < len(text) && unicode.IsDigit(text[digits]); digits++ {
		n = n*10 + int64(text[digits]-'0')
	}
	return n, digits
}

// toYAML returns obj as YAML with sorted keys. Values that are not plain are first encoded as JSON.
func toYAML(obj map[string]any) ([]byte, error) {
	if isPlain(obj) {
		data, err := ordered(obj)
		if err != nil {
			return nil, err
		}
		return yamlv2.Marshal(data)
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return JSONToYAML(text)
}

// isPlain reports whether v has only types of decoded JSON, and only texts that JSON and YAML do
// not change.
func isPlain(v any) bool {
	switch v := v.(type) {
	case nil, bool, int64:
		return true
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		return utf8.ValidString(v) && !strings.ContainsFunc(v, unlikeInYAML)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isPlain(e) })
	case map[string]any:
		for key, value := range v {
			if !isPlain(key) || !isPlain(value) {
				return false
			}
		}
		return true
	}
	return false
}

// Write writes each object as a "---" line and YAML, with keys in the natural
// order of sigs.k8s.io/yaml ("a2" before "a10"). If an object cannot be
// encoded, the objects before it have been written.
func Write(w io.Writer, objects ...map[string]any) error {
	for i, obj := range objects {
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return fmt.Errorf("writing document %d: %w", i+1, err)
		}
		text, err := toYAML(obj)
		if err != nil {
			return fmt.Errorf("encoding document %d: %w", i+1, err)
		}
		if _, err := w.Write(text); err != nil {
			return fmt.Errorf("writing document %d: %w", i+1, err)
		}
	}
	return nil
}

// WriteJSON writes a value as JSON without escapes for HTML.
func WriteJSON(w io.Writer, indent string, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(value)
}
