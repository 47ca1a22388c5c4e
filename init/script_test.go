package scaffold_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestReadAnswer(t *testing.T) {
	cases := map[string]struct {
		reason, input string
		want          scaffold.Answer
		err, rest     string
	}{
		"Y":        {"y is yes", "y\nrest", scaffold.Yes, "", "rest"},
		"Yes":      {"yes is yes", "yes\n", scaffold.Yes, "", ""},
		"Upper":    {"case does not matter for a letter", "Y\n", scaffold.Yes, "", ""},
		"Shout":    {"case does not matter for a word", "YES\n", scaffold.Yes, "", ""},
		"Windows":  {"a line may end with CR and LF", "y\r\nrest", scaffold.Yes, "", "rest"},
		"Spaces":   {"spaces around the answer are ignored", " y \n", scaffold.Yes, "", ""},
		"V":        {"v is view", "v\n", scaffold.View, "", ""},
		"View":     {"view is view", "View\n", scaffold.View, "", ""},
		"N":        {"n is no", "n\n", scaffold.No, "", ""},
		"Other":    {"any other word is no", "yess\n", scaffold.No, "", ""},
		"NoEnd":    {"the last line may lack a line break", "y", scaffold.Yes, "", ""},
		"Empty":    {"an empty line is not an answer", "\nrest", scaffold.No, `"" is not an answer`, "rest"},
		"Blank":    {"a line of spaces is not an answer", "  \nrest", scaffold.No, "is not an answer", "rest"},
		"TwoWords": {"two words are not an answer", "y n\n", scaffold.No, `"y n" is not an answer`, ""},
		"EOF":      {"the end of the input is an error", "", scaffold.No, "reading the answer: EOF", ""},
		"Long":     {"a line is limited", strings.Repeat("y", 66) + "\n", scaffold.No, "longer than 64 bytes", "y\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := strings.NewReader(tc.input)
			got, err := scaffold.ReadAnswer(r)
			e2e.Equal(t, tc.reason, tc.want, got)
			e2e.WantError(t, tc.reason, err, tc.err)
			rest := e2e.Must(io.ReadAll(r))(t)
			e2e.Equal(t, tc.reason, tc.rest, string(rest))
		})
	}
}

func TestReadAnswerPassesErrorsOn(t *testing.T) {
	broken := errors.New("the input is broken")
	for _, r := range []io.Reader{iotest.ErrReader(broken), io.MultiReader(strings.NewReader("ye"), iotest.ErrReader(broken))} {
		if got, err := scaffold.ReadAnswer(r); got != scaffold.No || !errors.Is(err, broken) {
			t.Errorf("got %v, %v, want no and the reader's error", got, err)
		}
	}
}

func TestReadAnswerKeepsTheByteThatComesWithTheEnd(t *testing.T) {
	for s, want := range map[string]scaffold.Answer{"y": scaffold.Yes, "Yy": scaffold.No, "yes": scaffold.Yes} {
		e2e.Equal(t, fmt.Sprintf("%q is read to its last byte", s), want, e2e.Must(scaffold.ReadAnswer(iotest.DataErrReader(strings.NewReader(s))))(t))
	}
}

func FuzzReadAnswer(f *testing.F) {
	for _, s := range []string{"y\n", "view\n", "\n", "", "y", "\x00\n", "ÿ\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := scaffold.ReadAnswer(iotest.DataErrReader(strings.NewReader(s)))
		line, _, _ := strings.Cut(s, "\n")
		if word := strings.ToLower(strings.TrimSpace(line)); got == scaffold.Yes && (err != nil || word != "y" && word != "yes") {
			t.Errorf("%q is not a yes", s)
		}
	})
}
