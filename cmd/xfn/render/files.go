package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// directory writes a file for each XR.
type directory struct {
	path, format string
	sources      map[string]string
}

func newDirectory(path, format string) (*directory, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("making the output directory: %w", err)
	}
	return &directory{path: path, format: format, sources: map[string]string{}}, nil
}

func (d *directory) take(r session.Result, docs []map[string]any) error {
	path, err := d.claim(r)
	if err != nil {
		return err
	}
	text, err := encode(d.format, docs)
	if err != nil {
		return err
	}
	return fsx.WriteFile(path, 0o644, text)
}

// claim returns the path of an XR's file. Two XRs of the same name are an
// error, since one would take the place of the other.
func (d *directory) claim(r session.Result) (string, error) {
	path := filepath.Join(d.path, fileName(r, d.format))
	if before, ok := d.sources[path]; ok {
		return "", &xrError{fmt.Errorf("writing %q: the composite resources at %s and %s have the same name", path, before, r.Source)}
	}
	d.sources[path] = r.Source
	return path, nil
}

func (d *directory) finish(bool) error { return nil }

// checker compares with what is expected: the documents of all XRs with those
// of one file, or those of each XR with those of its file in a folder.
type checker struct {
	flags outputFlags
	term  *terminal.Terminal
	// dir is nil if all documents are expected in one file.
	dir     *directory
	docs    []map[string]any
	differs bool
}

// newChecker takes a path for a folder if it is one, ends as one, or, for many
// XRs, has no extension.
func newChecker(f outputFlags, term *terminal.Terminal, many bool) (*checker, error) {
	c := &checker{flags: f, term: term}
	info, err := os.Stat(f.Check)
	asDir := os.IsPathSeparator(f.Check[len(f.Check)-1]) || many && err != nil && filepath.Ext(f.Check) == ""
	if asDir || err == nil && info.IsDir() {
		c.dir = &directory{path: f.Check, format: f.Format, sources: map[string]string{}}
		if f.Update {
			c.dir, err = newDirectory(f.Check, f.Format)
		} else {
			err = nil
		}
		return c, err
	}
	return c, nil
}

func (c *checker) take(r session.Result, docs []map[string]any) error {
	if c.dir == nil {
		c.docs = append(c.docs, docs...)
		return nil
	}
	path, err := c.dir.claim(r)
	if err != nil {
		return err
	}
	return c.check(path, docs)
}

func (c *checker) finish(complete bool) error {
	switch {
	case !complete && c.flags.Update:
		c.term.Warn(c.flags.Check + " is not wholly updated, since not all was rendered")
		return nil
	case c.dir == nil:
		if err := c.check(c.flags.Check, c.docs); err != nil {
			return err
		}
	case !c.flags.Update:
		if err := c.checkOthers(); err != nil {
			return err
		}
	}
	if c.differs {
		return hint.Wrap(fmt.Errorf("the output is not what %s expects", c.flags.Check), "if the new result is right, write it with --update")
	}
	return nil
}

// checkOthers checks the files of the folder that no XR has.
func (c *checker) checkOthers() error {
	paths, err := filepath.Glob(filepath.Join(c.dir.path, "*."+c.flags.Format))
	if err != nil {
		return fmt.Errorf("looking for what is expected: %w", err)
	}
	for _, path := range paths {
		if _, ok := c.dir.sources[path]; ok {
			continue
		}
		if err := c.check(path, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) check(path string, docs []map[string]any) error {
	text, err := encode(c.flags.Format, docs)
	if err != nil {
		return err
	}
	if c.flags.Update {
		return fsx.WriteFile(path, 0o644, text)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		c.term.Warn("there is no file " + path + " yet")
	}
	want, err := expected(path, c.flags.Format)
	if err != nil {
		return err
	}
	// What is compared is what would be written, so that numbers are as they
	// are in the file.
	got, err := decode(path, c.flags.Format, text)
	if err != nil {
		return err
	}
	diffs := report.Compare(want, got)
	if len(diffs) == 0 {
		return nil
	}
	c.differs = true
	if _, err := fmt.Fprintf(c.term.Stdout, "%s\n", path); err != nil {
		return fmt.Errorf("printing the difference: %w", err)
	}
	return report.WriteDiff(c.term.Stdout, diffs, c.term.Colour(c.term.Stdout))
}

// expected reads the documents that a file holds. One that is not there holds
// none.
func expected(path, format string) ([]map[string]any, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("loading what is expected: %w", err)
	}
	docs, err := decode(path, format, text)
	if err != nil {
		return nil, fmt.Errorf("loading what is expected: %w", err)
	}
	return docs, nil
}

// decode is the reverse of encode.
func decode(path, format string, text []byte) ([]map[string]any, error) {
	if format == "json" {
		text = bytes.ReplaceAll(text, []byte("\n{"), []byte("\n---\n{"))
	}
	docs, err := manifest.Split(path, text)
	if err != nil {
		return nil, err
	}
	objs := make([]map[string]any, len(docs))
	for i, doc := range docs {
		if objs[i], err = doc.Object(); err != nil {
			return nil, err
		}
	}
	return objs, nil
}
