package python

import (
	"strings"
	"unicode/utf8"
)

// isCompound reports whether a word is the first of a compound statement.
func isCompound(word string) bool {
	return oneOf(" def class if elif else for while with try except finally ", word)
}

// isSoft reports whether a word is a keyword or a name, depending on its place.
func isSoft(word string) bool { return word == "case" || word == "match" || word == "type" }

// isKeyword reports whether a word is, or may be, a keyword other than a value such as None.
func isKeyword(word string) bool {
	const simple = " and as assert async await break continue del from global import in is lambda nonlocal not or pass raise return yield "
	return oneOf(simple, word) || isCompound(word) || isSoft(word)
}

// before lists the statements that can precede a part of a compound statement.
var before = map[string]string{
	"elif": " if elif ", "else": " if elif for while except ", "except": " try except ", "finally": " try except else ",
}

// oneOf reports whether words has a word between spaces.
func oneOf(words, word string) bool { return word != "" && strings.Contains(words, " "+word+" ") }

func isOne(chars string, c byte) bool { return strings.IndexByte(chars, c) >= 0 }

// wordOf returns the keyword, name or number at the start of a text, or "".
func wordOf(text string) string {
	n := 0
	for n < len(text) && isWord(text[n]) {
		n++
	}
	return text[:n]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf
}
