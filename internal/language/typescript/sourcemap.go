package typescript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A sourceMap is a source map, revision 3, without its mappings.
type sourceMap struct {
	Sources []string `json:"sources"`
	Names   []string `json:"names"`
}

// decodeMap returns a source map, and its mappings as Base64 VLQ.
func decodeMap(data []byte) (sourceMap, string, error) {
	var m struct {
		sourceMap
		Mappings string `json:"mappings"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return sourceMap{}, "", fmt.Errorf("reading a source map: %w", err)
	}
	return m.sourceMap, m.Mappings, nil
}

// encode returns the JSON of a source map with mappings, which are Base64 VLQ and need no escapes.
func (m sourceMap) encode(mappings []byte) []byte {
	head, _ := json.Marshal(struct {
		Version int `json:"version"`
		sourceMap
	}{3, m})
	// Strings have no errors.
	return slices.Concat(bytes.TrimSuffix(head, []byte("}")), []byte(`,"mappings":"`), mappings, []byte("\"}\n"))
}

// A position is the state of a reader of mappings: the indexes of the source, its line and column, and
// the index of the name.
type position [4]int

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// lastPosition returns the position after all mappings, each of which is relative to the one
// before.
func lastPosition(mappings string) (p position) {
	field, value, shift := 0, 0, 0
	for _, c := range []byte(mappings) {
		if c == ',' || c == ';' {
			field = 0
			continue
		}
		digit := strings.IndexByte(digits, c)
		value |= digit & 31 << shift
		if shift += 5; digit&32 != 0 {
			continue
		}
		number := value >> 1
		if value&1 != 0 {
			number = -number
		}
		if field > 0 { // the first is the column in the line
			p[field-1] += number
		}
		field, value, shift = field+1, 0, 0
	}
	return p
}

// mapping returns a mapping of the first column, which changes the position.
func (p position) mapping(to position) string {
	text := []byte{digits[0]}
	for i := range p {
		if i == 3 && to[i] == p[i] {
			break // a mapping without a name
		}
		value := (to[i] - p[i]) << 1
		if value < 0 {
			value = -value | 1
		}
		for ; value > 31; value >>= 5 {
			text = append(text, digits[value&31|32])
		}
		text = append(text, digits[value])
	}
	return string(text)
}
