package sandbox

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestInstruct checks how instruct handles the replies of a supervisor. A supervisor
// closes the control socket after its second reply, when the function runs. An earlier
// end is an error.
func TestInstruct(t *testing.T) {
	for _, tc := range []struct {
		reason, replies string
		want            string // part of the error; empty for no error
	}{
		{"the supervisor reports its limits, and closes", `{}{"Landlock":1}`, ""},
		{"the supervisor reports why the function cannot run", `{}{}{"Error":"no program"}`, "no program"},
		{"a third reply without an error is an error", `{}{}{}`, "unexpected third reply"},
		{"invalid JSON is an error", `{}{}x`, "invalid character"},
		{"an end before the reply is an error", `{}`, "EOF"},
		{"a truncated reply is an error", `{}{"Landlock":`, "unexpected EOF"},
	} {
		ours, theirs, err := socketPair()
		e2e.NoError(t, err)
		e2e.NoError(t, e2e.Err(theirs.WriteString(tc.replies)))
		e2e.NoError(t, unix.Shutdown(int(theirs.Fd()), unix.SHUT_WR))
		err = (&Process{}).instruct(request{}, ours)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("instruct() that reads %s: got error %v, want %q: %s", tc.replies, err, tc.want, tc.reason)
		}
		ours.Close()
		theirs.Close()
	}
}
