package progress

// Plain returns f as a plain function, for packages whose importers know no
// Event. done and total are 0 for a stage that begins.
func (f Func) Plain() func(text string, done, total int64) {
	return func(text string, done, total int64) {
		if done == 0 && total == 0 {
			f.Step(text)
			return
		}
		f.Send(Event{Kind: Bytes, Text: text, Done: done, Total: total})
	}
}

// FromPlain is the inverse of Plain. Notes and warnings are dropped, and a nil
// report gives a nil Func.
func FromPlain(report func(text string, done, total int64)) Func {
	if report == nil {
		return nil
	}
	return func(e Event) {
		switch e.Kind {
		case Step:
			report(e.Text, 0, 0)
		case Bytes:
			report(e.Text, e.Done, e.Total)
		case Note, Warning:
		}
	}
}
