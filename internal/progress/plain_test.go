package progress_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/progress"
)

func TestPlain(t *testing.T) {
	var got []progress.Event
	f := progress.FromPlain(progress.Func(func(e progress.Event) { got = append(got, e) }).Plain())
	f.Step("a")
	f.Note("b")
	f.Warn("c")
	f.Send(progress.Event{Kind: progress.Bytes, Text: "d", Done: 1, Total: 2})
	want := []progress.Event{
		{Kind: progress.Step, Text: "a"},
		{Kind: progress.Bytes, Text: "d", Done: 1, Total: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if progress.FromPlain(nil) != nil {
		t.Error("no function became a Func")
	}
}
