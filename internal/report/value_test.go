package report_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
		"Bidi":      {"nothing reorders the line", "a\u202eb", 40, `"a\u202eb"`},
		"Invalid":   {"bytes that are no text show as bytes", "\xff", 40, `"\xff"`},
		"Umlaut":    {"letters are letters", "größe", 40, `"größe"`},
		"Whole":     {"whole numbers have no exponent", 1e6, 40, "1000000"},
		"Float":     {"others have a point", 1.5, 40, "1.5"},
		"NaN":       {"what JSON cannot express still shows", math.NaN(), 40, "NaN"},
		"Bool":      {"booleans are bare", true, 40, "true"},
		"Null":      {"so is null", nil, 40, "null"},
		"Object":    {"objects are JSON, with sorted keys", map[string]any{"b": 1.0, "a": "<"}, 40, `{"a":"<","b":1}`},
		"List":      {"and lists", []any{"a\u202e"}, 40, `["a\u202e"]`},
		"Fits":      {"what fits is not cut", strings.Repeat("a", 38), 40, `"` + strings.Repeat("a", 38) + `"`},
		"Cut":       {"what does not is cut, and counted", strings.Repeat("a", 100), 40, `"` + strings.Repeat("a", 14) + `"… (86 more bytes)`},
		"Unlimited": {"without a limit nothing is cut", strings.Repeat("a", 100), 0, `"` + strings.Repeat("a", 100) + `"`},
		"CutRunes":  {"no letter is cut in two", strings.Repeat("é", 100), 40, `"` + strings.Repeat("é", 14) + `"… (172 more bytes)`},
		"CutTree":   {"objects are cut like text", map[string]any{"k": strings.Repeat("a", 100)}, 40, `{"k":"aaaaaaaaaa… (92 more bytes)`},
		"Floor":     {"a limit has a floor", "0123456789", 3, `"0123456789"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := report.Text(tc.in, tc.limit); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	cases := map[string]struct {
		reason, in string
		limit      int
		want       string
	}{
		"Fits":  {"what fits stays", "abc", 3, "abc"},
		"Long":  {"what does not is cut", "abcd", 3, "abc… (1 more bytes)"},
		"Rune":  {"no letter is cut in two", "aéb", 2, "a… (3 more bytes)"},
		"Empty": {"nothing is cut from nothing", "", 0, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := report.Cut(tc.in, tc.limit); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	cases := map[string]struct{ reason, in, want string }{
		"Plain":   {"plain text stays as it is", `a "b" é`, `a "b" é`},
		"Control": {"control characters are escaped", "a\x1b\n", `a\x1b\n`},
		"Invalid": {"so is what is no text", "a\xffb", `a\xffb`},
		"Real":    {"a replacement character that is really there stays", "a\ufffdb", "a\ufffdb"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := report.Printable(tc.in); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
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
		if got := report.Duration(in); got != want {
			t.Errorf("got %q for %d ns, want %q", got, in, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 calls", 1: "1 call", 2: "2 calls"} {
		if got := report.Count(n, "call"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
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
		if report.Printable(text) != text {
			t.Errorf("%q is not printable", text)
		}
		if got := utf8.RuneCountInString(text); limit >= 40 && got > limit {
			t.Errorf("got %d columns, want at most %d: %s", got, limit, text)
		}
	})
}
