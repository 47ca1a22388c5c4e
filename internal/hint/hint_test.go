package hint_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

func TestOf(t *testing.T) {
	cause := errors.New("no such file")
	cases := map[string]struct {
		reason string
		err    error
		want   hint.Hint
	}{
		"None":      {"an error without a hint has an empty hint", cause, ""},
		"Nil":       {"a nil error has no hint", hint.Wrap(nil, "try x"), ""},
		"Direct":    {"Of returns the hint that Wrap attached", hint.Wrap(cause, "try x"), "try x"},
		"Wrapped":   {"a hint survives wrapping", fmt.Errorf("reading %q: %w", "f", hint.Wrap(cause, "try x")), "try x"},
		"Empty":     {"an empty hint does not hide another", hint.Wrap(hint.Wrap(cause, "try x"), ""), "try x"},
		"NoName":    {"without a similar name there is no suggestion", hint.Wrap(cause, hint.Meant("kind: ", "")), ""},
		"Added":     {"an alternative follows the hint", hint.Add(fmt.Errorf("reading: %w", hint.Wrap(cause, "try x")), "try y"), "try x; or try y"},
		"AddedOnly": {"an alternative of no hint stands alone", hint.Add(cause, "try y"), "try y"},
		"AddedNil":  {"no error has no hint to add to", hint.Add(nil, "try y"), ""},
		"Or":        {"alternatives that are empty are left out", hint.Wrap(cause, hint.Or("", "try x", "", "try y")), "try x; or try y"},
		"Outermost": {"the outermost hint is returned", hint.Wrap(hint.Wrap(cause, "inner"), "outer"), "outer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, hint.Of(tc.err))
		})
	}
}

func TestWord(t *testing.T) {
	for _, tc := range []struct{ reason, argument, want string }{
		{"a word of letters, digits and punctuation needs no quotes", "../Größe/a_b-c.xpkg,d=1:2@3%4+5", "../Größe/a_b-c.xpkg,d=1:2@3%4+5"},
		{"a space is quoted", "a b", "'a b'"},
		{"a quote is quoted", "a'b", `'a'\''b'`},
		{"a variable is quoted", "$HOME", "'$HOME'"},
		{"an empty word is quoted", "", "''"},
	} {
		e2e.Equal(t, tc.reason, tc.want, hint.Word(tc.argument))
	}
}

func TestWrapKeepsTextAndChain(t *testing.T) {
	cause := errors.New("no such file")
	err := hint.Wrap(cause, "try x")
	e2e.Equal(t, "a hint does not change the text of the error", cause.Error(), err.Error())
	e2e.ErrorIs(t, "Wrap keeps the cause", err, cause)
}

func TestSpell(t *testing.T) {
	flag := func(option string) string { return "--" + option }
	cases := map[string]struct {
		reason string
		hint   hint.Hint
		spell  hint.Speller
		want   string
	}{
		"Option":   {"an option inside a sentence is spelled", "run it without " + hint.Offline + ", please", flag, "run it without --offline, please"},
		"Several":  {"a hint can name several options", hint.Builtin + hint.Runtime + "=x", flag, "--builtin--runtime=x"},
		"None":     {"text without options is unchanged", "answer y", flag, "answer y"},
		"Unknown":  {"an unknown name in braces is unchanged", "use {stranger} or " + hint.Lint, flag, "use {stranger} or --lint"},
		"NoName":   {"braces without an option name are unchanged", "{}, {a b} {{lint}} {", flag, "{}, {a b} {--lint} {"},
		"NoCaller": {"without a speller an option has its plain name", "run it without " + hint.Offline, nil, "run it without option offline"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, tc.hint.Spell(tc.spell))
		})
	}
}

func TestAn(t *testing.T) {
	for _, tc := range []struct{ reason, noun, want string }{
		{"a kind that begins with a vowel has the article an", "Ingress", "an Ingress"},
		{"a kind that begins with a consonant has the article a", "Deployment", "a Deployment"},
		{"a vowel that is pronounced as a consonant has the article a", "Usage", "a Usage"},
		{"without a noun, the article is a", "", "a "},
	} {
		e2e.Equal(t, tc.reason, tc.want, hint.An(tc.noun))
	}
}
