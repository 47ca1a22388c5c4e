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
a  accept: write the golden files of cases that render something else
t  write what each step did as a page, and say where it is
d  show all of the difference, or what fits
q  quit, as Ctrl-C does; functions are stopped`

const (
	interrupt = 3 // Ctrl-C in a terminal that sends what is typed as it is
	endOfText = 4
)

// keys lets a person type single keys, if there are a keyboard and a screen,
// until what it returns is called. It hands on what is asked of the loop, and
// calls quit.
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
	go func() { // nobody can end its last read: the process does
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
		s.say(strings.TrimPrefix(s.watches+"\n"+help, "\n"))
	}
}

// toggle shows all of the round, or what fits.
func (s *screen) toggle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = !s.whole
	_ = s.draw()
}

// say shows lines below the round, in place of others.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = strings.Split(text, "\n")
	_ = s.draw()
}

// trace writes the page, and says where it is.
func (s *screen) trace() {
	s.mu.Lock()
	path, err := s.pagePath()
	if err == nil {
		err = s.writePage(path)
	}
	s.mu.Unlock()
	if err != nil {
		s.say(terminal.Printable(err.Error()))
		return
	}
	s.say("the trace is in " + path)
}

// pagePath is where the page goes. A temporary one stays: a browser may show it
// longer than this process lives.
func (s *screen) pagePath() (string, error) {
	if s.page != "" {
		return s.page, nil
	}
	if s.temporary == "" {
		dir, err := os.MkdirTemp("", "xfn-dev-")
		if err != nil {
			return "", fmt.Errorf("making a folder for the trace: %w", err)
		}
		s.temporary = filepath.Join(dir, "trace.html")
	}
	return s.temporary, nil
}
