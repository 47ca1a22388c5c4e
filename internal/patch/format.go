package patch

import (
	"fmt"
	"strings"
)

// Sprintf is like fmt.Sprintf, but returns an error if the text could exceed MaxText.
func Sprintf(b *Budget, format string, args ...any) (string, error) {
	if err := checkText(longest(format, args)); err != nil {
		return "", fmt.Errorf("formatting %.80q: %w", format, err)
	}
	text := fmt.Sprintf(format, args...)
	return text, b.Spend(len(text))
}

// longest returns an upper bound for the length of fmt.Sprintf(format,
// args...). It counts each verb for all arguments, because a verb such as %[1]s
// can select any, and because fmt pads each element of a list.
func longest(format string, args []any) int {
	padding := widest(format, args)
	expansion := 1
	if strings.ContainsAny(format, "qxXU#") {
		// fmt may quote a byte as \U0010ffff, or format it as "0xff ".
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

// longestNumber is the length of 1e308 formatted with %f, rounded up.
const longestNumber = 400

// measure returns the maximum length of v when it is formatted, and the number
// of values in v that fmt pads. before is the length measured so far; measure
// stops when the total exceeds MaxText.
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

// mostWidth is the largest width that fmt accepts.
const mostWidth = 1_000_000

// widest returns an upper bound for the bytes with which format pads one value.
func widest(format string, args []any) int {
	widest, n, inVerb := 0, 0, false
	for i := range len(format) {
		switch c := format[i]; {
		case c == '%':
			inVerb, n = true, 0
		case inVerb && c >= '0' && c <= '9':
			n = min(n*10+int(c-'0'), mostWidth)
			widest = max(widest, n)
		case inVerb && c == '*':
			widest = max(widest, widestOf(args))
		default:
			inVerb, n = inVerb && strings.IndexByte("+-# .[]", c) >= 0, 0
		}
	}
	return 2 * widest
}

// widestOf returns the largest width that a "*" in a format can take from args. A width must be
// an integer; for other values fmt pads nothing.
func widestOf(args []any) int {
	widest := 0
	for _, arg := range args {
		if n, ok := arg.(int64); ok && -mostWidth <= n && n <= mostWidth {
			widest = max(widest, int(n), int(-n))
		}
	}
	return widest
}
