package test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/suite"
)

// convert writes the suites of other tools as suites of xfn, and prints the paths of the files.
// It writes no file for a suite that cannot be converted, and replaces no file that differs.
func convert(term *terminal.Terminal, suites []*suite.Suite) error {
	var errs []error
	found := 0
	for _, s := range suites {
		if !s.IsForeign() {
			continue
		}
		found++
		path, text, err := suite.Convert(s)
		if err == nil {
			err = writeNew(path, text)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := term.Printf("%s\n", terminal.Printable(path)); err != nil {
			return err
		}
	}
	if found == 0 {
		term.Warn("there are no tests of other tools")
	}
	return errors.Join(errs...)
}

func writeNew(path string, text []byte) error {
	switch old, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	case bytes.Equal(old, text):
		return nil
	default:
		return hint.Wrap(fmt.Errorf("%s exists, and has other content", path), "remove the file, and run the command again")
	}
	return fsx.WriteFile(path, 0o644, text)
}
