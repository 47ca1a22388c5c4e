package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
)

const (
	keptLines   = 100 // to look for a complaint in
	quotedLines = 20
	maxLine     = 2 << 10 // bytes; what is longer counts as several lines
)

// An Output keeps the last lines that a function wrote. Its memory is bounded.
// It is safe for concurrent use.
type Output struct {
	// Name is what the lines are called where they are quoted. Empty means
	// "output".
	Name string
	// Each gets every line, without control characters. It may be nil.
	Each func(line string)

	mu    sync.Mutex
	rest  []byte // of a line that has not ended
	lines []string
}

// Write takes what a process wrote.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		line, after, whole := bytes.Cut(p, []byte("\n"))
		if room := maxLine - len(o.rest); len(line) > room {
			line, after, whole = p[:room], p[room:], true
		}
		o.rest, p = append(o.rest, line...), after
		if whole {
			o.endLine()
		}
	}
	return n, nil
}

// Flush ends the last line.
func (o *Output) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.rest) > 0 {
		o.endLine()
	}
}

func (o *Output) endLine() {
	line := printable(string(o.rest))
	o.rest = o.rest[:0]
	if len(o.lines) == keptLines {
		o.lines = append(o.lines[:0], o.lines[1:]...)
	}
	o.lines = append(o.lines, line)
	if o.Each != nil {
		o.Each(line)
	}
}

// printable drops what could play tricks on a terminal.
func printable(s string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s), " \t")
}

// Contains reports whether one of the last hundred lines holds text.
func (o *Output) Contains(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range o.lines {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// Quote returns the last lines, to be put behind an error.
func (o *Output) Quote() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := cmp.Or(o.Name, "output")
	if len(o.lines) == 0 {
		return "; it wrote no " + name
	}
	last := o.lines[max(0, len(o.lines)-quotedLines):]
	return "; its last " + name + ":\n  " + strings.Join(last, "\n  ")
}

// Explain says why a function that runs did not come to answer because of err: if
// ctx is done, since that is. The last lines are with it, but for a user's
// interrupt: the user knows why.
func (o *Output) Explain(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%w%s", err, o.Quote())
}
