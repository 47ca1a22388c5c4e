package progress_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/progress"
)

func TestFunc(t *testing.T) {
	var got []progress.Event
	f := progress.Func(func(e progress.Event) { got = append(got, e) })
	f.Step("a")
	f.Note("b")
	f.Warn("c")
	f.Send(progress.Event{Kind: progress.Bytes, Text: "d", Done: 1, Total: 2})
	want := []progress.Event{
		{Kind: progress.Step, Text: "a"},
		{Kind: progress.Note, Text: "b"},
		{Kind: progress.Warning, Text: "c"},
		{Kind: progress.Bytes, Text: "d", Done: 1, Total: 2},
	}
	e2e.Equal(t, "each method sends an event of its kind", want, got)
}

// TestLate checks that only an operation that takes longer than Silence is announced.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []progress.Event
		f := progress.Func(func(e progress.Event) { got = append(got, e) })
		defer f.Late("slow")()
		stop := f.Late("fast")
		time.Sleep(progress.Silence - time.Nanosecond) // advances the fake clock of the synctest bubble
		stop()
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		e2e.Equal(t, "only the operation that takes longer than Silence is announced", []progress.Event{{Kind: progress.Note, Text: "slow"}}, got)
	})
}

func TestNilFuncTakesEvents(t *testing.T) {
	var f progress.Func
	f.Step("nobody listens")
}

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
	e2e.Equal(t, "only steps and bytes pass through a plain function", want, got)
	if progress.FromPlain(nil) != nil {
		t.Error("no function became a Func")
	}
}
