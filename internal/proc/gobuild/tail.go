package gobuild

import (
	"bytes"
	"strings"
)

const (
	maxBytes = 32 << 10
	maxLines = 40
)

// A tail keeps the last lines of what is written to it.
type tail struct {
	buf []byte
	cut bool
}

// Write keeps the last maxBytes of everything written.
func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - maxBytes; over > 0 {
		t.cut = true
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String returns the last maxLines whole lines, without a final newline, after "…"
// if there were more.
func (t *tail) String() string {
	text := t.buf
	if t.cut {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(text), "?")), "\n")
	cut := t.cut
	if over := len(lines) - maxLines; over > 0 {
		lines, cut = lines[over:], true
	}
	if cut {
		lines = append([]string{"…"}, lines...)
	}
	return strings.Join(lines, "\n")
}
