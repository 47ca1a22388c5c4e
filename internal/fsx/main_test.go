package fsx_test

import (
	"io"
	"os"
	"testing"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// TestMain runs the child processes of the tests, selected by an environment variable.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(childEnv) != "":
		writeHalf(os.Getenv(childEnv))
	case os.Getenv(lockVar) != "":
		holdLock(os.Getenv(lockVar))
	case os.Getenv(tempDirVar) != "":
		holdTempDir(os.Getenv(tempDirVar))
	default:
		os.Exit(m.Run())
	}
}

// writeHalf writes half of a file, prints a line, and waits until its stdin is closed.
func writeHalf(path string) {
	_ = fsx.Write(path, 0o644, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString("half\n"); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	})
}
