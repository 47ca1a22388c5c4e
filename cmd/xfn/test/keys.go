package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/dev"
)

const help = `r  render and test again
a  accept: write the golden files that differ from the output
t  write a page about the steps, and show its path
d  show all differences, or those that fit
q  quit, like Ctrl-C; functions are stopped`

const (
	interrupt = 3 // Ctrl-C in raw mode
	endOfText = 4
)

// keys reads single keys, if stdin and stdout are terminals, until restore is called.
// It sends commands to the loop, or calls quit.
func (s *screen) keys(ctx context.Context, quit func(), commands chan<- dev.Command) (restore func(), err error) {
	in := s.term.Stdin
	if !s.live || !s.term.Interactive() {
		return func() {}, nil
	}
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("reading single keys: %w", err)
	}
	s.raw = true
	go func() { // The last read ends with the process.
		key := make([]byte, 1)
		for {
			if _, err := in.Read(key); err != nil {
				quit()
				return
			}
			s.key(ctx, key[0], quit, commands)
		}
	}()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.write("\n")
		_ = term.Restore(int(in.Fd()), state)
	}, nil
}

func (s *screen) key(ctx context.Context, key byte, quit func(), commands chan<- dev.Command) {
	send := func(c dev.Command) {
		select {
		case commands <- c:
		case <-ctx.Done():
		}
	}
	switch key {
	case 'q', interrupt, endOfText:
		quit()
	case 'r':
		send(dev.Again)
	case 'a':
		send(dev.Accept)
	case 't':
		s.trace()
	case 'd':
		s.toggle()
	case '?', 'h':
		s.setNotice(strings.TrimPrefix(s.watches+"\n"+help, "\n"))
	}
}

// toggle shows all of the round, or the part that fits.
func (s *screen) toggle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = !s.whole
	_ = s.draw()
}

// setNotice replaces the lines below the round.
func (s *screen) setNotice(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = strings.Split(text, "\n")
	_ = s.draw()
}

// trace writes the page about the steps, and shows its path.
func (s *screen) trace() {
	s.mu.Lock()
	path, err := s.pagePath()
	if err == nil {
		err = s.writePage(path)
	}
	s.mu.Unlock()
	if err != nil {
		s.setNotice(terminal.Printable(err.Error()))
		return
	}
	s.setNotice("the trace is in " + path)
}

// pagePath returns the path of the page. A temporary one is not removed, because a
// browser may show it longer than this process runs.
func (s *screen) pagePath() (string, error) {
	if s.page != "" {
		return s.page, nil
	}
	if s.temporary == "" {
		dir, err := os.MkdirTemp("", "xfn-dev-")
		if err != nil {
			return "", fmt.Errorf("creating a folder for the trace: %w", err)
		}
		s.temporary = filepath.Join(dir, "trace.html")
	}
	return s.temporary, nil
}
