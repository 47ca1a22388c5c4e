package progress_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
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
	e2e.Equal(t, "result", want, got)
	if progress.FromPlain(nil) != nil {
		t.Error("no function became a Func")
	}
}
