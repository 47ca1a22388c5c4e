package progress

// A Kind says what an Event is about.
type Kind int

const (
	// Step is a stage that begins: "compiling linux/amd64".
	Step Kind = iota
	// Bytes is movement of data: Done of Total bytes of Text.
	Bytes
	// Note is something that the user should know.
	Note
	// Warning is something that the user should probably change.
	Warning
)

// An Event is one thing that long work has to say.
type Event struct {
	Kind Kind
	// Text is one line without a newline. Events of Kind Bytes that belong
	// together have the same Text.
	Text string
	// Done and Total count bytes, for Kind Bytes. Total is 0 if unknown; the
	// last event of a Text has Done equal to Total.
	Done, Total int64
}

// A Func takes events. It must be safe for concurrent use and must not block
// for long. A nil Func takes events and forgets them.
type Func func(Event)

// Send passes e on, if anyone listens.
func (f Func) Send(e Event) {
	if f != nil {
		f(e)
	}
}

// Step says that a stage begins.
func (f Func) Step(text string) { f.Send(Event{Kind: Step, Text: text}) }

// Note says something that the user should know.
func (f Func) Note(text string) { f.Send(Event{Kind: Note, Text: text}) }

// Warn says something that the user should probably change.
func (f Func) Warn(text string) { f.Send(Event{Kind: Warning, Text: text}) }
