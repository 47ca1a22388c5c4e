package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// suffix is the number of columns reserved for "… (N more bytes)".
const suffix = 24

// Text returns a value as JSON on one line of at most limit columns, or whole
// if limit is 0. A longer value ends in "… (N more bytes)", counted in bytes
// of the value. Strings are quoted as in Go. A limit under 40 counts as 40.
func Text(v any, limit int) string {
	if limit > 0 {
		limit = max(limit, 40)
	}
	if s, ok := v.(string); ok {
		return quoted(s, limit)
	}
	text := literal(v)
	if limit == 0 || utf8.RuneCountInString(text) <= limit {
		return text
	}
	return Cut(text, limit-suffix)
}

func literal(v any) string {
	var b bytes.Buffer
	if err := manifest.WriteJSON(&b, "", v); err != nil {
		return Printable(fmt.Sprint(v))
	}
	return Printable(strings.TrimSuffix(b.String(), "\n"))
}

// quoted returns s in quotes, cut to limit columns if limit is not 0. It quotes only the
// part that it returns, because s may be long.
func quoted(s string, limit int) string {
	if limit == 0 {
		return strconv.Quote(s)
	}
	if len(s) <= 4*limit {
		if whole := strconv.Quote(s); utf8.RuneCountInString(whole) <= limit {
			return whole
		}
	}
	at, width := 0, 2
	for at < len(s) {
		_, size := utf8.DecodeRuneInString(s[at:])
		width += utf8.RuneCountInString(strconv.Quote(s[at:at+size])) - 2
		if width > limit-suffix {
			break
		}
		at += size
	}
	return strconv.Quote(s[:at]) + more(len(s)-at)
}

// Cut returns at most limit bytes of s, without splitting a character, followed
// by "… (N more bytes)" if s is longer.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + more(len(s)-limit)
}

func more(n int) string { return fmt.Sprintf("… (%d more bytes)", n) }

// Printable returns s with control and invisible characters escaped as in Go.
func Printable(s string) string { return escape(s, "") }

// escape escapes characters that do not print, except those in keep.
func escape(s, keep string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !strconv.IsPrint(r) && !strings.ContainsRune(keep, r) || r == utf8.RuneError && size == 1 {
			q := strconv.Quote(s[i : i+size])
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// Duration formats a duration with two or three digits.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

// Count formats a number with a noun: "1 call" or "2 calls".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + Plural(noun)
}

// Plural returns the plural of a noun.
func Plural(noun string) string {
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch") {
		return noun + "es"
	}
	return noun + "s"
}

// Wrap breaks a text at spaces into lines of at most width columns.
func Wrap(text string, width int) []string {
	var lines []string
	words := strings.Split(text, " ")
	line := words[0]
	for _, word := range words[1:] {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
