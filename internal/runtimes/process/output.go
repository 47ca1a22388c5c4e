package process

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
)

const (
	keptLines   = 100 // to look for a complaint in
	quotedLines = 20
	maxLine     = 2 << 10 // bytes; what is longer counts as several lines
)

// An output keeps the last lines that a process wrote. Its memory is bounded.
type output struct {
	each func(line string)

	mu    sync.Mutex
	rest  []byte // of a line that has not ended
	lines []string
}

// Write takes what a process wrote.
func (o *output) Write(p []byte) (int, error) {
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

// flush ends the last line.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.rest) > 0 {
		o.endLine()
	}
}

func (o *output) endLine() {
	line := printable(string(o.rest))
	o.rest = o.rest[:0]
	if len(o.lines) == keptLines {
		o.lines = append(o.lines[:0], o.lines[1:]...)
	}
	o.lines = append(o.lines, line)
	o.each(line)
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

func (o *output) contains(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range o.lines {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// quote returns the last lines, to be put behind an error.
func (o *output) quote() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.lines) == 0 {
		return "; it wrote no output"
	}
	last := o.lines[max(0, len(o.lines)-quotedLines):]
	return "; its last output:\n  " + strings.Join(last, "\n  ")
}
