package fsx_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
)

// lockVar is the variable that contains the path of the file that the child process locks.
const lockVar = "XFN_TEST_HOLD"

// holdLock locks a file, prints a line, and waits until its stdin is closed.
func holdLock(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		var ok bool
		ok, err = fsx.TryLock(f, fsx.ExclusiveLock)
		fmt.Println(ok, err)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(0)
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	return e2e.Open(os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600))(t)
}

func TestTry(t *testing.T) {
	cases := map[string]struct {
		reason        string
		first, second fsx.LockMode
		want          bool
	}{
		"Readers":      {"shared locks are compatible", fsx.SharedLock, fsx.SharedLock, true},
		"Writer":       {"exclusive locks are incompatible", fsx.ExclusiveLock, fsx.ExclusiveLock, false},
		"ReaderFirst":  {"an exclusive lock is incompatible with a shared lock", fsx.SharedLock, fsx.ExclusiveLock, false},
		"WriterBefore": {"a shared lock is incompatible with an exclusive lock", fsx.ExclusiveLock, fsx.SharedLock, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			first, second := open(t, path), open(t, path)
			if ok, err := fsx.TryLock(first, tc.first); !ok || err != nil {
				t.Fatalf("of a free file: got %v, %v", ok, err)
			}
			e2e.Equal(t, tc.reason, tc.want, e2e.Must(fsx.TryLock(second, tc.second))(t))
			e2e.NoError(t, first.Close())
			e2e.Equal(t, "the lock is free after the first file is closed", true, e2e.Must(fsx.TryLock(second, tc.second))(t))
		})
	}
}

func TestTryClosed(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "lock"))
	f.Close()
	if ok, err := fsx.TryLock(f, fsx.SharedLock); ok || err == nil {
		t.Errorf("of a closed file: got %v, %v", ok, err)
	}
}

// When a process is killed, its lock is released.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := open(t, path)
	self := e2e.Must(os.Executable())(t)
	holder := exec.Command(self)
	holder.Env = append(os.Environ(), lockVar+"="+path)
	stdin := e2e.Must(holder.StdinPipe())(t)
	defer stdin.Close()
	stdout := e2e.Must(holder.StdoutPipe())(t)
	e2e.NoError(t, holder.Start())
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "true <nil>\n" || err != nil {
		t.Fatalf("the other process: got %q, %v", line, err)
	}
	e2e.Equal(t, "a file that another process has locked", false, e2e.Must(fsx.TryLock(f, fsx.SharedLock))(t))
	e2e.NoError(t, holder.Process.Kill())
	// Wait returns an error, because the process was killed.
	_ = e2e.Await(t, holder.Wait)
	e2e.Equal(t, "the lock is free after the process is killed", true, e2e.Must(fsx.TryLock(f, fsx.ExclusiveLock))(t))
}

func TestIsAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := open(t, path)
	if !fsx.IsAt(f, path) {
		t.Error("IsAt is false for the file at its path")
	}
	e2e.NoError(t, os.Rename(path, path+".old"))
	if fsx.IsAt(f, path) {
		t.Error("IsAt is true for a removed file")
	}
	open(t, path)
	if fsx.IsAt(f, path) {
		t.Error("IsAt is true for another file at the path")
	}
	f.Close()
	if fsx.IsAt(f, path+".old") {
		t.Error("IsAt is true for a closed file")
	}
}
