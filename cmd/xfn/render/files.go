package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// directory is a sink that writes a file for each XR.
type directory struct {
	path, format string
	// sources has the position of each XR in the input, by the path of the XR's output file.
	sources map[string]string
	// flag is the flag that names the directory, and reads are the inputs. They are empty if nothing
	// is written.
	flag  string
	reads reads
}

func newDirectory(path, format, flag string, in reads) (*directory, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("creating the output directory: %w", err)
	}
	return &directory{path: path, format: format, sources: map[string]string{}, flag: flag, reads: in}, nil
}

func (d *directory) add(r session.Result) error {
	path, err := d.reserve(r)
	if err != nil {
		return err
	}
	if r.TextErr != nil {
		return r.TextErr
	}
	return fsx.WriteFile(path, 0o644, r.Text)
}

// reserve returns the path of an XR's file. Two XRs with the same path are an error.
func (d *directory) reserve(r session.Result) (string, error) {
	path := filepath.Join(d.path, fileName(r, d.format))
	if before, ok := d.sources[path]; ok {
		return "", &xrError{fmt.Errorf("writing %q: the composite resources at %s and %s have the same name", path, before, r.Source)}
	}
	d.sources[path] = r.Source
	if err := d.reads.check(d.flag, path); err != nil {
		return "", &xrError{err}
	}
	return path, nil
}

func (d *directory) finish(bool) error { return nil }

// reads are the inputs of a render, which no output replaces.
type reads struct{ named, folders flags.Files }

// readsOf returns the inputs. It does not return folders except folders of composite resources,
// because others, such as a folder of --compositions, may also contain outputs.
func readsOf(in session.Inputs, others ...string) reads {
	return reads{named: flags.FilesAt(append(in.Paths(), others...)...), folders: flags.FilesAt(in.XRs...)}
}

// check returns an error if the file that a flag writes is an input.
func (r reads) check(flag, path string) error {
	info, err := os.Stat(path)
	inFolder := manifest.IsYAML(path) && r.folders.Has(filepath.Dir(path))
	if err != nil || !info.Mode().IsRegular() || !r.named.Has(path) && !inFolder {
		return nil
	}
	err = fmt.Errorf("--%s writes %q, which the command reads: it would be overwritten", flag, path)
	return hint.Wrap(err, hint.Hint("write to another path with --"+flag))
}

// checker is a sink that compares the output with expected documents: the output for
// all XRs with one file, or the output for each XR with its own file in a folder.
type checker struct {
	flags outputFlags
	term  *terminal.Terminal
	// dir is nil if one file has all expected documents.
	dir *directory
	// text is the output for all XRs, if one file has all expected documents.
	text    []byte
	differs bool
}

// newChecker returns a checker for the path of --check. The path counts as a folder if it
// is an existing folder or ends with a separator. With many XRs, a path that does not
// exist and has no extension is also a folder.
func newChecker(f outputFlags, term *terminal.Terminal, many bool, in reads) (*checker, error) {
	c := &checker{flags: f, term: term}
	if !f.Update && term.IsStdout(f.Check) {
		return nil, &terminal.UsageError{Err: fmt.Errorf("reading the expected output %q: it is the standard output of xfn, expected another file", f.Check)}
	}
	info, err := os.Stat(f.Check)
	isDir := os.IsPathSeparator(f.Check[len(f.Check)-1]) || many && err != nil && filepath.Ext(f.Check) == "" || err == nil && info.IsDir()
	switch {
	case !isDir && f.Update:
		return c, terminal.Usage(in.check("check", f.Check))
	case !isDir:
		return c, nil
	case f.Update:
		c.dir, err = newDirectory(f.Check, f.Format, "check", in)
		return c, err
	default:
		c.dir = &directory{path: f.Check, format: f.Format, sources: map[string]string{}}
		return c, nil
	}
}

func (c *checker) add(r session.Result) error {
	if r.TextErr != nil {
		return r.TextErr
	}
	if c.dir == nil {
		c.text = append(c.text, r.Text...)
		return nil
	}
	path, err := c.dir.reserve(r)
	if err != nil {
		return err
	}
	return c.check(path, r.Text)
}

func (c *checker) finish(complete bool) error {
	switch {
	case !complete && c.flags.Update:
		c.term.Warn(c.flags.Check + " is not completely updated, because renders failed")
		return nil
	case c.dir == nil:
		if err := c.check(c.flags.Check, c.text); err != nil {
			return err
		}
	case !c.flags.Update:
		if err := c.checkOthers(); err != nil {
			return err
		}
	}
	if c.differs {
		return hint.Wrap(fmt.Errorf("the output differs from %s", c.flags.Check), "if the new output is correct, write it with --update")
	}
	return nil
}

// checkOthers reports expected files in the folder that belong to none of the XRs.
func (c *checker) checkOthers() error {
	paths, err := fsx.Glob(c.dir.path, "*."+c.flags.Format)
	if err != nil {
		return fmt.Errorf("looking for expected files: %w", err)
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

func (c *checker) check(path string, text []byte) error {
	if c.flags.Update {
		return fsx.WriteFile(path, 0o644, text)
	}
	var want []map[string]any
	expected, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		c.term.Warn(path + " does not exist yet")
		err = nil
	} else if err == nil {
		want, err = decode(path, c.flags.Format, expected)
	}
	if err != nil {
		return fmt.Errorf("loading the expected output: %w", err)
	}
	// Decode the output, so that numbers have the types that they have in a file.
	got, err := decode(path, c.flags.Format, text)
	if err != nil {
		return err
	}
	diffs := report.Compare(want, got)
	if len(diffs) == 0 {
		return nil
	}
	c.differs = true
	if err := c.term.Printf("%s\n", path); err != nil {
		return err
	}
	return report.WriteDiff(c.term.Stdout, diffs, c.term.Style(c.term.Stdout))
}

// decode is the reverse of encode.
func decode(path, format string, text []byte) ([]map[string]any, error) {
	if format == "json" {
		text = bytes.ReplaceAll(text, []byte("\n{"), []byte("\n---\n{"))
	}
	return manifest.Objects(path, text)
}
