package e2e_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// A transcript is the output of a running program. It is safe for concurrent use.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
	// seen is the length of the text up to the end of the last match of await.
	seen  int
	more  chan struct{}
	ended error
}

// transcribe reads r to its end.
func transcribe(r io.Reader) *transcript {
	t := &transcript{more: make(chan struct{})}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			t.mu.Lock()
			t.text.Write(buf[:n])
			t.ended = err
			close(t.more)
			t.more = make(chan struct{})
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return t
}

// await waits until the output after the last match matches, and returns the match.
func (t *transcript) await(pattern *regexp.Regexp) (string, error) {
	late := time.After(2 * time.Minute)
	for {
		t.mu.Lock()
		rest, more, ended := t.text.String()[t.seen:], t.more, t.ended
		if at := pattern.FindStringIndex(rest); at != nil {
			t.seen += at[1]
			t.mu.Unlock()
			return rest[at[0]:at[1]], nil
		}
		t.mu.Unlock()
		if ended != nil {
			return "", errors.New("the output ended before " + pattern.String() + ":\n" + rest)
		}
		select {
		case <-more:
		case <-late:
			return "", errors.New("the output has no match of " + pattern.String() + " in two minutes:\n" + rest)
		}
	}
}

// rendersAgain runs a command of xfn dev until the output matches first, then changes a file of
// the folder, and waits until a later round matches then.
func rendersAgain(t *testing.T, cmd *exec.Cmd, first, file, old, with, then string) {
	t.Helper()
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	e2e.NoError(t, cmd.Start())
	defer func() {
		_, _ = cmd.Process.Signal(os.Interrupt), cmd.Wait()
		_ = w.Close()
	}()
	out := transcribe(r)
	e2e.NoError(t, e2e.Err(out.await(regexp.MustCompile("(?ms)"+first+".*^watching "))))
	path := filepath.Join(cmd.Dir, file)
	text := e2e.Must(os.ReadFile(path))(t)
	e2e.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), old, with, 1)), 0o600))
	e2e.NoError(t, e2e.Err(out.await(regexp.MustCompile("(?ms)^round \\d+: "+file+" changed$.*"+then))))
}

// startDev is "start-dev ARGS…": it starts `xfn dev ARGS` with its output in a pipe. At the
// end of the script it is interrupted; it must succeed and leave nothing in TMPDIR.
func startDev(ts *testscript.TestScript, _ bool, args []string) {
	cmd := inScript(ts, append([]string{"dev"}, args...))
	for _, key := range append(slices.Clone(goVariables), "PATH") {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	ts.Check(cmd.Start())
	devs.Store(ts, transcribe(r))
	ts.Defer(func() {
		devs.Delete(ts)
		interrupt(ts, cmd)
		_ = w.Close()
		left, err := filepath.Glob(filepath.Join(ts.Getenv("TMPDIR"), "*"))
		ts.Check(err)
		if len(left) > 0 {
			ts.Fatalf("left behind: %q", left)
		}
	})
}

// devs are the transcripts of xfn dev, by the *testscript.TestScript that started it.
var devs sync.Map

// awaitDev is "await REGEXP…": it waits for matches in the output of
// start-dev, one after another.
func awaitDev(ts *testscript.TestScript, _ bool, args []string) {
	t, ok := devs.Load(ts)
	if !ok {
		ts.Fatalf("start-dev was not run")
	}
	for _, arg := range args {
		_, err := t.(*transcript).await(regexp.MustCompile("(?m)" + arg))
		ts.Check(err)
	}
}
