package report_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
)

func TestValueText(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     any
		limit  int
		want   string
	}{
		"String":    {"strings are quoted", "a", 0, `"a"`},
		"Quotes":    {"quotes in strings are escaped", `a"b`, 40, `"a\"b"`},
		"Escape":    {"terminals get no escape sequence", "\x1b[31m", 40, `"\x1b[31m"`},
		"Bidi":      {"characters that change the text direction are escaped", "a\u202eb", 40, `"a\u202eb"`},
		"Invalid":   {"bytes that are not UTF-8 are escaped", "\xff", 40, `"\xff"`},
		"Umlaut":    {"letters are not escaped", "größe", 40, `"größe"`},
		"Whole":     {"whole numbers have no exponent", 1e6, 40, "1000000"},
		"Float":     {"numbers with a fraction have a decimal point", 1.5, 40, "1.5"},
		"NaN":       {"numbers that JSON cannot express are shown", math.NaN(), 40, "NaN"},
		"Bool":      {"booleans are not quoted", true, 40, "true"},
		"Null":      {"null is not quoted", nil, 40, "null"},
		"Object":    {"objects are JSON, with sorted keys", map[string]any{"b": 1.0, "a": "<"}, 40, `{"a":"<","b":1}`},
		"List":      {"lists are JSON", []any{"a\u202e"}, 40, `["a\u202e"]`},
		"Fits":      {"a short value is not cut", strings.Repeat("a", 38), 40, `"` + strings.Repeat("a", 38) + `"`},
		"Cut":       {"a long value is cut, with the number of bytes left", strings.Repeat("a", 100), 40, `"` + strings.Repeat("a", 14) + `"… (86 more bytes)`},
		"Unlimited": {"a limit of 0 means no limit", strings.Repeat("a", 100), 0, `"` + strings.Repeat("a", 100) + `"`},
		"CutRunes":  {"a character is not split", strings.Repeat("é", 100), 40, `"` + strings.Repeat("é", 14) + `"… (172 more bytes)`},
		"CutTree":   {"objects are cut like text", map[string]any{"k": strings.Repeat("a", 100)}, 40, `{"k":"aaaaaaaaaa… (92 more bytes)`},
		"Floor":     {"a small limit counts as 40", "0123456789", 3, `"0123456789"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, report.Text(tc.in, tc.limit))
		})
	}
}

func TestCut(t *testing.T) {
	cases := map[string]struct {
		reason, in string
		limit      int
		want       string
	}{
		"Fits":  {"a short text is not cut", "abc", 3, "abc"},
		"Long":  {"a long text is cut", "abcd", 3, "abc… (1 more bytes)"},
		"Rune":  {"a character is not split", "aéb", 2, "a… (3 more bytes)"},
		"Empty": {"an empty text is not cut", "", 0, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, report.Cut(tc.in, tc.limit))
		})
	}
}

func TestPrintable(t *testing.T) {
	cases := map[string]struct{ reason, in, want string }{
		"Plain":   {"plain text is unchanged", `a "b" é`, `a "b" é`},
		"Control": {"control characters are escaped", "a\x1b\n", `a\x1b\n`},
		"Invalid": {"bytes that are not UTF-8 are escaped", "a\xffb", `a\xffb`},
		"Real":    {"a replacement character in the text is unchanged", "a\ufffdb", "a\ufffdb"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, report.Printable(tc.in))
		})
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0:                       "0 µs",
		90 * time.Microsecond:   "90 µs",
		1234 * time.Microsecond: "1.2 ms",
		56 * time.Millisecond:   "56 ms",
		3456 * time.Millisecond: "3.5 s",
		90 * time.Minute:        "5400.0 s",
	} {
		e2e.Equal(t, "a duration is shortened to one unit", want, report.Duration(in))
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b", 40)
	f.Add(strings.Repeat("é\u202e", 50), 60)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 0 || limit > 1000 {
			return
		}
		text := report.Text(s, limit)
		e2e.Equal(t, "a text that is printable", text, report.Printable(text))
		if got := utf8.RuneCountInString(text); limit >= 40 && got > limit {
			t.Errorf("got %d columns, want at most %d: %s", got, limit, text)
		}
	})
}
