package proc

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
	keptLines   = 100 // number of lines that Contains searches
	quotedLines = 20
	maxLine     = 2 << 10 // in bytes; a longer line is split
)

// An Output keeps the last lines that a program wrote, in bounded memory. It
// is safe for concurrent use.
type Output struct {
	// Name is what Quote calls the lines. Empty means "output".
	Name string
	// Each receives every line, without control characters. It may be nil.
	Each func(line string)

	mu      sync.Mutex
	rest    []byte // start of a line that has not ended
	lines   []string
	dropped bool // whether earlier lines were dropped
}

// Write adds output of the program.
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

// Flush ends a last line that has no newline.
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
		o.dropped = true
		o.lines = append(o.lines[:0], o.lines[1:]...)
	}
	o.lines = append(o.lines, line)
	if o.Each != nil {
		o.Each(line)
	}
}

// printable removes characters that a terminal may interpret.
func printable(s string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s), " \t")
}

// Contains reports whether one of the last hundred lines contains text.
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

// Last returns the last n lines, after "…" if there were more.
func (o *Output) Last(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := max(0, len(o.lines)-n)
	last := strings.Join(o.lines[first:], "\n")
	if o.dropped || first > 0 {
		return "…\n" + last
	}
	return last
}

// Quote returns the last lines as a suffix for an error.
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

// Explain returns why a running function did not answer. If ctx is done, its
// cause replaces err. The last lines are appended, unless the user canceled.
func (o *Output) Explain(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%w%s", err, o.Quote())
}
