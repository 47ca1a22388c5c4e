package xpkg

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/xpkg"
)

// checkOutput returns an error for "-", because packages are not written to standard
// output.
func checkOutput(file string) error {
	if file != stdout {
		return nil
	}
	err := fmt.Errorf("writing package %q: expected the name of a file", file)
	return &terminal.UsageError{Err: hint.Wrap(err, "use /dev/stdout to write the package to a pipe")}
}

// printBuilt prints the name and digest of a package file, as a note if the file is
// standard output itself.
func printBuilt(term *terminal.Terminal, file string, artifact xpkg.Artifact) error {
	digest, err := artifact.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest of %q: %w", file, err)
	}
	line := fmt.Sprintf("%s %s", file, digest)
	if isStdout(term, file) {
		term.Note(line)
		return nil
	}
	if _, err := fmt.Fprintln(term.Stdout, line); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return nil
}

// isStdout reports whether path is the pipe or file of standard output. A terminal and
// /dev/null do not count.
func isStdout(term *terminal.Terminal, path string) bool {
	out, ok := term.Stdout.(*os.File)
	if !ok {
		return false
	}
	to, err := out.Stat()
	at, pathErr := os.Stat(path)
	return err == nil && pathErr == nil && to.Mode()&os.ModeCharDevice == 0 && os.SameFile(to, at)
}

// mostProblems limits the problems of a package that are printed.
const mostProblems = 50

// faults prints err if it is several problems, and returns the error of the command.
func faults(term *terminal.Terminal, root string, err error) error {
	var all xpkg.Problems
	if !errors.As(err, &all) || len(all) == 1 {
		return err
	}
	for _, p := range worthPrinting(all) {
		term.Fault(p.Err())
	}
	err = fmt.Errorf("package root %q has %d problems", cmp.Or(root, "."), len(all))
	if len(all) > mostProblems {
		err = fmt.Errorf("%w; the first %d are above", err, mostProblems)
	}
	return err
}

// warn prints problems as warnings.
func warn(term *terminal.Terminal, all xpkg.Problems) {
	for _, p := range worthPrinting(all) {
		text := p.Err().Error()
		if p.Hint != "" {
			text += "\nhint: " + hint.Hint(p.Hint).Spell(term.Spell)
		}
		term.Warn(text)
	}
	if n := len(all) - mostProblems; n > 0 {
		term.Warn(fmt.Sprintf("and %d more", n))
	}
}

// worthPrinting returns the first problems, each hint once.
func worthPrinting(all xpkg.Problems) xpkg.Problems {
	hints := map[string]bool{}
	some := slices.Clone(all[:min(len(all), mostProblems)])
	for i, p := range some {
		if hints[p.Hint] {
			some[i].Hint = ""
		}
		hints[p.Hint] = true
	}
	return some
}
