package limit_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating/limit"
)

// compare compares what functions find in a text with what those of sprig do.
func compare(t *testing.T, b *limit.Budget, expression, text, with string) {
	t.Helper()
	for _, tc := range []struct {
		name string
		last []any
	}{
		{"egexMatch", nil},
		{"egexFind", nil},
		{"egexFindAll", []any{-1}},
		{"egexFindAll", []any{0}},
		{"egexFindAll", []any{2}},
		{"egexSplit", []any{-1}},
		{"egexSplit", []any{0}},
		{"egexSplit", []any{2}},
		{"egexReplaceAll", []any{with}},
		{"egexReplaceAllLiteral", []any{with}},
	} {
		for _, name := range []string{"r" + tc.name, "mustR" + tc.name} {
			args := append([]any{expression, text}, tc.last...)
			want, wantErr := outcome(sprig.GenericFuncMap()[name], args)
			got, gotErr := outcome(b.Function(name), args)
			if diff := cmp.Diff(want, got); diff != "" || wantErr != gotErr {
				t.Errorf("%s %q: got %s, want %s (-want +got):\n%s", name, args, gotErr, wantErr, diff)
			}
		}
	}
}

// outcome returns the result of a call, and its error or panic.
func outcome(f any, args []any) (result any, failure string) {
	defer func() {
		if r := recover(); r != nil {
			failure = fmt.Sprint(r)
		}
	}()
	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		in[i] = reflect.ValueOf(arg)
	}
	out := reflect.ValueOf(f).Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		return nil, out[1].Interface().(error).Error()
	}
	return out[0].Interface(), ""
}

var expressions = []string{
	"", "a", "a*", "x*y|x", "^", "$", "^a", "a$", `\A`, `\z`, `\b`, `\B`, `(?m)^`, `(?m)$`, `(?m)^a*$`, `(?s).`, ".", `\bw\b`, "(a)|(b)", "(?P<n>a+)(b?)", "a|",
	`(?i)A`, "(?U)a+", `\Qa.`, `\Q(\E.`, "é", `[^a]`, `a{2}`, `a{2,}?`, `(a|ab)(c|bcd)`, `\xff`, "\\pL", "b*?", "()", "(|a)*", "(", "a**", `\C`, "[",
}

var searched = []string{
	"", "a", "aaa", "ba ab\naa\n", "xxxxxxxxxx", "\n", "a.b(c", "w w ww", "éa é", "\xffa\xe2\x82\xac\xe2\x82", "abcd", "日本\u00a0x", "A\r\na",
}

// ways are budgets that have searches done by the library, one match after the
// other, and piece by piece.
func ways(t *testing.T) []*limit.Budget {
	var all []*limit.Budget
	for _, steps := range []float64{1 << 24, 1 << 10, 0} {
		b := limit.New(t.Context(), limit.Usual())
		b.SetSoon(steps)
		all = append(all, b)
	}
	return all
}

func TestSearch(t *testing.T) {
	for _, b := range ways(t) {
		for _, expression := range expressions {
			for _, text := range searched {
				compare(t, b, expression, text+text, "<$0${n}$1>")
			}
		}
	}
}

func FuzzSearch(f *testing.F) {
	for i, expression := range expressions {
		f.Add(expression, searched[i%len(searched)], "<$0>")
	}
	f.Fuzz(func(t *testing.T, expression, text, with string) {
		if len(expression) > 50 || len(text) > 200 || len(with) > 50 {
			return
		}
		for _, b := range ways(t) {
			compare(t, b, expression, text, with)
		}
	})
}

// A countdown is a context that is cancelled once it was asked often enough.
type countdown struct {
	context.Context
	left atomic.Int64
}

var errEnough = errors.New("enough")

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return errEnough
	}
	return nil
}

// TestSearchEnds has searches that would take from seconds to days.
func TestSearchEnds(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	cases := map[string]struct {
		reason string
		name   string
		args   []any
	}{
		"FindAll":    {"each match is looked for to the end of the text", "regexFindAll", []any{"x*y|x", long, -1}},
		"Split":      {"the same of parts", "mustRegexSplit", []any{"x*y|x", long, -1}},
		"Replace":    {"of replacements", "regexReplaceAll", []any{"x*y|x", long, "$0"}},
		"Literal":    {"and those that are as they are", "mustRegexReplaceAllLiteral", []any{"x*y|x", long, "z"}},
		"Match":      {"one match with a large expression", "regexMatch", []any{"(x{0,30}){0,30}y", long}},
		"Find":       {"the same of its text", "mustRegexFind", []any{"(x{0,30}){0,30}y", long}},
		"FewMatches": {"the third match is far", "regexFindAll", []any{"^x|x$|(x{0,30}){0,30}y", long, 3}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := &countdown{Context: t.Context()}
			ctx.left.Store(3)
			if _, err := invoke(reflect.ValueOf(limit.New(ctx, limit.Usual()).Function(tc.name)), tc.args...); err == nil || err.Error() != errEnough.Error() {
				t.Errorf("%s: got %v, want %v", tc.reason, err, errEnough)
			}
			if asked := 3 - ctx.left.Load(); asked > 4 {
				t.Errorf("%s: it went on, and asked %d times", tc.reason, asked)
			}
		})
	}
}

// TestSearchPaid has replacements that are larger than a value can be.
func TestSearchPaid(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	cases := map[string]struct {
		reason string
		args   []any
	}{
		"Literal": {"a long text for each character", []any{"x", long, long}},
		"Groups":  {"one match many times", []any{"x*", long, strings.Repeat("$0", 1000)}},
		"Empty":   {"a long text between all characters", []any{"", long, long}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := limit.New(t.Context(), small())
			if _, err := invoke(reflect.ValueOf(b.Function("regexReplaceAll")), tc.args...); err == nil || err.Error() != "a value takes more than 4 MiB" {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}
