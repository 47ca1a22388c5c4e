package patch

import (
	"fmt"
	"strings"
)

// Sprintf is like fmt.Sprintf, but a text that could exceed MaxText is an
// error.
func Sprintf(b *Budget, format string, args ...any) (string, error) {
	if err := checkText(longest(format, args)); err != nil {
		return "", fmt.Errorf("formatting %.80q: %w", format, err)
	}
	text := fmt.Sprintf(format, args...)
	return text, b.Spend(len(text))
}

// longest returns an upper bound for the length of a formatted text. Each verb
// is counted for all arguments, because of verbs like %[1]s, and fmt pads each
// element of a list.
func longest(format string, args []any) int {
	padding := widest(format)
	expansion := 1
	if strings.ContainsAny(format, "qxXU#") {
		// A byte may be quoted as \U0010ffff, or formatted as "0xff ".
		expansion = 12
	}
	size := 0
	for _, arg := range args {
		bytes, leaves := measure(arg, 0)
		size += bytes*expansion + leaves*padding
		if size > MaxText {
			return size
		}
	}
	verbs := 1 + strings.Count(format, "%")
	if size > MaxText/verbs {
		return MaxText + 1
	}
	return len(format) + verbs*size
}

// longestNumber is the length of 1e308 in the format %f, rounded up.
const longestNumber = 400

// measure returns the maximal length of v's text, and the number of values in v
// that fmt pads. It stops when the length, with before, exceeds MaxText.
func measure(v any, before int) (bytes, leaves int) {
	switch v := v.(type) {
	case string:
		return len(v) + 16, 1
	case []any:
		bytes, leaves = 16, 1
		for _, element := range v {
			n, l := measure(element, before+bytes)
			if bytes, leaves = bytes+n+2, leaves+l; before+bytes > MaxText {
				break
			}
		}
		return bytes, leaves
	case map[string]any:
		bytes, leaves = 32, 1
		for key, element := range v {
			n, l := measure(element, before+bytes)
			if bytes, leaves = bytes+len(key)+n+24, leaves+l+1; before+bytes > MaxText {
				break
			}
		}
		return bytes, leaves
	default:
		return longestNumber, 1
	}
}

// widest returns an upper bound for the padding of one value by a format. fmt
// limits widths to a million.
func widest(format string) int {
	const most = 1_000_000
	widest, n, inVerb := 0, 0, false
	for i := range len(format) {
		switch c := format[i]; {
		case c == '%':
			inVerb, n = true, 0
		case inVerb && c >= '0' && c <= '9':
			n = min(n*10+int(c-'0'), most)
			widest = max(widest, n)
		case inVerb && c == '*':
			return 2 * most
		default:
			inVerb, n = inVerb && strings.IndexByte("+-# .[]", c) >= 0, 0
		}
	}
	return 2 * widest
}
