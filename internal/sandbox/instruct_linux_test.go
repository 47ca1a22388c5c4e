package sandbox

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A supervisor closes its end once the function runs. Whatever else comes of it
// is no success.
func TestInstruct(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		replies string
		want    string // of the error; empty: none
	}{
		{"bound, in force, and the end", `{}{"Landlock":1}`, ""},
		{"why there is no function", `{}{}{"Error":"no program"}`, "no program"},
		{"one reply too many", `{}{}{}`, "it says more than there is to say"},
		{"no reply", `{}{}x`, "invalid character"},
		{"it ended before", `{}`, "EOF"},
		{"or half way", `{}{"Landlock":`, "unexpected EOF"},
	} {
		ours, theirs, err := socketPair()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.WriteString(tc.replies); err != nil {
			t.Fatal(err)
		}
		if err := unix.Shutdown(int(theirs.Fd()), unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		err = (&Process{}).instruct(orders{}, ours)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("instruct() hearing %s: got error %v, want %q: %s", tc.replies, err, tc.want, tc.reason)
		}
		ours.Close()
		theirs.Close()
	}
}
