package fsx

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// IgnoreFile is the name of the file in a folder that lists what packages leave out.
const IgnoreFile = ".xpkgignore"

// maxIgnore limits the bytes of an IgnoreFile.
const maxIgnore = 1 << 20

// An Ignore has the patterns of an IgnoreFile, which have the syntax of gitignore. The zero
// value matches nothing.
type Ignore struct{ patterns Patterns }

// ReadIgnore reads an IgnoreFile with the function open. A file that does not exist has no
// patterns.
func ReadIgnore(open func(name string) (fs.File, error)) (i Ignore, err error) {
	f, err := open(IgnoreFile)
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}
	if err != nil {
		return i, fmt.Errorf("reading %q: %w", IgnoreFile, Cause(err))
	}
	defer f.Close()
	in := &io.LimitedReader{R: f, N: maxIgnore + 1}
	lines := bufio.NewScanner(in)
	var all []string
	for lines.Scan() {
		all = append(all, lines.Text())
	}
	switch {
	case in.N == 0:
		return i, fmt.Errorf("reading %q: the file is larger than %d bytes", IgnoreFile, maxIgnore)
	case lines.Err() != nil:
		return i, fmt.Errorf("reading %q: %w", IgnoreFile, Cause(lines.Err()))
	}
	return Ignore{ParsePatterns(all)}, nil
}

// Match reports whether packages leave out path, which is relative to the folder and has
// slashes. They leave out all files of a folder that matches.
func (i Ignore) Match(path string, isDir bool) bool { return i.patterns.Match(path, isDir) }
