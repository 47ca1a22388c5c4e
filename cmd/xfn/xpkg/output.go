package xpkg

import (
	"fmt"
	"os"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/xpkg"
)

// checkOutput refuses the name that stands for standard output elsewhere: a
// package is a file, and there would be one of that name.
func checkOutput(file string) error {
	if file != stdout {
		return nil
	}
	err := fmt.Errorf("writing package %q: expected the name of a file", file)
	return &terminal.UsageError{Err: hint.Wrap(err, "to pass the package on, name /dev/stdout")}
}

// printBuilt prints the line by which a script learns what a command wrote: not
// behind a package that went to standard output itself.
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

// isStdout says whether a path is what standard output goes to: a pipe, say. A
// terminal or /dev/null may be both, and has nothing behind it to spoil.
func isStdout(term *terminal.Terminal, path string) bool {
	out, ok := term.Stdout.(*os.File)
	if !ok {
		return false
	}
	to, err := out.Stat()
	at, pathErr := os.Stat(path)
	return err == nil && pathErr == nil && to.Mode()&os.ModeCharDevice == 0 && os.SameFile(to, at)
}
