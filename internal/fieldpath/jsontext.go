package fieldpath

import (
	"strings"
	"unicode/utf8"
)

// ValidUTF8 returns s with U+FFFD for every invalid byte, like encoding/json.
func ValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}
