package progress

import (
	"fmt"
	"sync"
	"time"
)

// Silence is how long an operation may report nothing before a note says what it does.
const Silence = 5 * time.Second

// A Kind is the kind of an Event.
type Kind int

const (
	// Step is the start of a stage, such as "compiling linux/amd64".
	Step Kind = iota
	// Bytes reports that Done of Total bytes of the transfer Text are done.
	Bytes
	// Note is information for the user.
	Note
	// Warning is a problem that the user should probably fix.
	Warning
)

// An Event is a progress report of a long operation.
type Event struct {
	Kind Kind
	// Text is one line, without a newline at the end. It is the same in all
	// Bytes events of one transfer.
	Text string
	// Done and Total count bytes in an event of Kind Bytes. Total is 0 if
	// it is unknown. In the last event of a transfer, Done equals Total.
	Done, Total int64
}

// A Func handles events. It must be safe for concurrent use and must not block
// for long. A nil Func ignores events.
type Func func(Event)

// Send calls f, unless it is nil.
func (f Func) Send(e Event) {
	if f != nil {
		f(e)
	}
}

// Step sends an Event of Kind Step with the text.
func (f Func) Step(text string) { f.Send(Event{Kind: Step, Text: text}) }

// Note sends an Event of Kind Note with the text.
func (f Func) Note(text string) { f.Send(Event{Kind: Note, Text: text}) }

// Warn sends an Event of Kind Warning with the text.
func (f Func) Warn(text string) { f.Send(Event{Kind: Warning, Text: text}) }

// maxOnce limits the number of notes and warnings that Once remembers.
const maxOnce = 10_000

// Once returns a Func that drops repeated notes and warnings.
func (f Func) Once() Func {
	var mu sync.Mutex
	seen := map[Event]bool{}
	return func(e Event) {
		if e.Kind == Note || e.Kind == Warning {
			mu.Lock()
			again := seen[e]
			if len(seen) < maxOnce {
				seen[e] = true
			}
			mu.Unlock()
			if again {
				return
			}
		}
		f.Send(e)
	}
}

// Late sends a Note with the text unless stop is called within Silence.
func (f Func) Late(text string) (stop func()) {
	timer := time.AfterFunc(Silence, func() { f.Note(text) })
	return func() { timer.Stop() }
}

// Plain returns a function that sends Events to f. Public packages have functions of this
// type in their API. A call with done and total 0 sends an Event of Kind Step.
func (f Func) Plain() func(text string, done, total int64) {
	return func(text string, done, total int64) {
		if done == 0 && total == 0 {
			f.Step(text)
			return
		}
		f.Send(Event{Kind: Bytes, Text: text, Done: done, Total: total})
	}
}

// FromPlain is the inverse of Plain. It drops notes and warnings, and returns a
// nil Func for a nil function.
func FromPlain(report func(text string, done, total int64)) Func {
	if report == nil {
		return nil
	}
	return func(e Event) {
		if e.Kind == Step || e.Kind == Bytes {
			report(e.Text, e.Done, e.Total) // Done and Total are 0 for a Step.
		}
	}
}

// Await calls expired when a server has sent no data for limit, and sends one note before. Its
// functions start the time again, and stop it.
func (f Func) Await(server string, limit time.Duration, expired func()) (start, stop func()) {
	idle := time.AfterFunc(limit, expired)
	notice := time.AfterFunc(Silence, sync.OnceFunc(func() {
		f.Note(fmt.Sprintf("%s has not responded for %s; the request fails after %s", server, Silence, limit))
	}))
	return func() { idle.Reset(limit); notice.Reset(Silence) }, func() { idle.Stop(); notice.Stop() }
}

// A Counter is an io.Writer that sends an Event for the bytes written to it.
type Counter struct {
	// Text and Total are copied to the events. Total may be an estimate.
	Text  string
	Total int64
	// Report receives the events.
	Report Func

	done int64
}

// Write sends an Event with the number of bytes written so far.
func (c *Counter) Write(p []byte) (int, error) {
	c.Add(len(p))
	return len(p), nil
}

// Add counts n bytes.
func (c *Counter) Add(n int) {
	if c.done += int64(n); c.done < c.Total {
		c.Report.Send(Event{Kind: Bytes, Text: c.Text, Done: c.done, Total: c.Total})
	}
}

// Finish sends the last event, with the number of written bytes as Total.
func (c *Counter) Finish() {
	c.Report.Send(Event{Kind: Bytes, Text: c.Text, Done: c.done, Total: c.done})
}
