package proc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const (
	keptLines   = 100 // number of lines that are kept, and that Contains searches
	quotedLines = 20
	maxLine     = 2 << 10 // in bytes; a longer line is split
)

// An Output keeps the last 100 lines that a program wrote. Write adds to them. An Output
// is safe for concurrent use.
type Output struct {
	// Name is the noun for the lines in the text of Quote, such as "lines on stderr".
	// Empty means "output".
	Name string
	// Each receives every line, without control characters. It may be nil.
	Each func(line string)

	mu      sync.Mutex
	rest    []byte // start of the current line, which has not ended
	lines   []string
	dropped bool // whether earlier lines were dropped
}

// Write adds bytes that the program wrote. It never fails.
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

// Flush ends the last line if the program did not end it by a newline.
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
	return slices.ContainsFunc(o.lines, func(line string) bool { return strings.Contains(line, text) })
}

// Last returns the last n lines. If there were more, a line "…" precedes them.
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

// Quote returns a suffix for an error: the last 20 lines, or that the program wrote
// nothing.
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

// Explain returns err, the reason why a function did not answer, followed by the last
// lines that the function wrote. If ctx is done, the cause of ctx replaces err. If the
// user canceled, Explain returns only that cause.
func (o *Output) Explain(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%w%s", err, o.Quote())
}
