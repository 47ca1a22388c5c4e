package progress

// A Counter is an io.Writer that tells of the bytes that are written to it.
type Counter struct {
	// Text and Total are those of the events. Total need not be exact.
	Text  string
	Total int64
	// Report is who is told.
	Report Func

	done int64
}

// Write counts p.
func (c *Counter) Write(p []byte) (int, error) {
	if c.done += int64(len(p)); c.done < c.Total {
		c.Report.Send(Event{Kind: Bytes, Text: c.Text, Done: c.done, Total: c.Total})
	}
	return len(p), nil
}

// Finish tells that all bytes were there.
func (c *Counter) Finish() {
	c.Report.Send(Event{Kind: Bytes, Text: c.Text, Done: c.done, Total: c.done})
}
