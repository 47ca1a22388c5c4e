package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// Split splits data, the content of path, at lines that begin with "---".
// Documents with only blanks and comments are left out. Text after "---" that is
// not a comment is an *Error.
//
// The documents share the memory of data.
func Split(path string, data []byte) (docs []Document, err error) {
	s := splitter{line: 1, doc: Document{Path: path, Line: 1}, shared: true}
	s.yield = func(doc Document, fault error) bool {
		err = fault
		doc.Text = slices.Clip(doc.Text)
		docs = append(docs, doc)
		return err == nil
	}
	for len(data) > 0 && !s.ended {
		n := cmp.Or(bytes.IndexByte(data, '\n')+1, len(data))
		s.add(data[:n])
		data = data[n:]
		s.line++
	}
	s.flush()
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// Objects returns the objects in data, the content of the file path.
func Objects(path string, data []byte) ([]map[string]any, error) {
	docs, err := Split(path, data)
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

// Stream returns the documents of a file, or of all .yaml and .yml files in a folder and
// its sub-folders, in the order of the paths. Only one document is in memory at a time. A
// document may have MaxSize bytes; a file may have any size. If a document cannot be read,
// Stream yields the error with the Path and, if known, the Line of that document. Stream
// then continues with the next document.
func (r Reader) Stream(ctx context.Context, path string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		if docs, ok := r.given(path); ok {
			for _, doc := range docs {
				if !yield(doc, nil) {
					return
				}
			}
			return
		}
		if path == Stdin {
			r.stream(ctx, path, yield)
			return
		}
		err := afero.Walk(r.FS, path, func(name string, info fs.FileInfo, err error) error {
			switch {
			case err != nil:
				if !yield(Document{Path: name}, r.unreadable(name, err)) {
					return fs.SkipAll
				}
				return nil
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case name != path && (!IsYAML(name) || !IsFile(r.FS, name, info.Mode())):
				return nil
			case info.IsDir() || r.stream(ctx, name, yield):
				return nil
			}
			return fs.SkipAll
		})
		if err != nil && !errors.Is(err, fs.SkipAll) {
			yield(Document{Path: path}, fmt.Errorf("reading %q: %w", path, err))
		}
	}
}

// stream yields the documents of a file, and reports whether to continue.
func (r Reader) stream(ctx context.Context, path string, yield func(Document, error) bool) bool {
	in, stop := r.open(ctx, path)
	defer stop()
	for doc, err := range split(path, in) {
		r.Suspect(doc)
		if !yield(doc, err) {
			return false
		}
	}
	return true
}

// open returns the content of a file or of standard input. A read that blocks,
// such as from a pipe without a writer, fails when ctx is done. The caller must
// call stop, which does not wait for a blocked read.
func (r Reader) open(ctx context.Context, path string) (out io.Reader, stop func()) {
	in, pipe := io.Pipe()
	unhook := context.AfterFunc(ctx, func() { pipe.CloseWithError(context.Cause(ctx)) })
	go func() { pipe.CloseWithError(r.copyTo(pipe, path)) }()
	return in, func() {
		unhook()
		in.Close()
	}
}

func (r Reader) copyTo(out io.Writer, path string) error {
	in, size := r.Stdin, 64<<10
	if path != Stdin {
		f, err := r.FS.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
		if known := r.size(path); known > 0 {
			size = int(min(int64(size), known+1)) // a test suite reads thousands of small files
		}
	}
	if in == nil {
		return errors.New("there is no standard input")
	}
	_, err := io.CopyBuffer(out, struct{ io.Reader }{in}, make([]byte, size))
	return err
}

// split yields the documents of a file as it is read.
func split(path string, in io.Reader) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		lines := bufio.NewReaderSize(in, 64<<10)
		s := splitter{yield: yield, line: 1, doc: Document{Path: path, Line: 1}}
		for !s.ended {
			part, err := lines.ReadSlice('\n')
			switch {
			case errors.Is(err, io.EOF):
				s.add(part)
				s.flush()
				return
			case err != nil && !errors.Is(err, bufio.ErrBufferFull):
				yield(Document{Path: path}, fmt.Errorf("reading %q: %w", path, fsx.Cause(err)))
				return
			}
			s.add(part)
			s.within = err != nil
			if !s.within {
				s.line++
			}
		}
	}
}

// A splitter splits a file into documents.
type splitter struct {
	yield func(Document, error) bool
	ended bool // yield returned false, so no more documents are yielded
	line  int
	// within is true if the start of the current line was already added.
	// separator is true if the current line is a document separator.
	within, separator bool
	// doc is the current document up to the current line. size is the number of its bytes;
	// bytes beyond MaxSize are not added to doc.
	doc  Document
	size int
	// shared means that the added parts are consecutive parts of one slice.
	shared bool
}

// add adds a whole line, or a part of a long line, to the current document.
func (s *splitter) add(part []byte) {
	if s.line == 1 && !s.within {
		part = bytes.TrimPrefix(part, []byte("\xef\xbb\xbf"))
	}
	if !s.within {
		s.separator = bytes.HasPrefix(part, []byte("---"))
		if s.separator {
			s.flush()
			s.next(part)
		}
	}
	if s.separator {
		return
	}
	if s.size += len(part); s.size > MaxSize {
		return
	}
	switch {
	case !s.shared:
		s.doc.Text = append(s.doc.Text, part...)
	case s.doc.Text == nil:
		s.doc.Text = part
	default:
		s.doc.Text = s.doc.Text[:len(s.doc.Text)+len(part)]
	}
}

// next begins a new document after a line with a document separator.
func (s *splitter) next(separator []byte) {
	if rest := bytes.TrimSpace(separator[len("---"):]); len(rest) > 0 && rest[0] != '#' {
		s.fault(s.line, fmt.Errorf("a document separator is followed by %q on its line", clip(rest)))
	}
	s.doc, s.size = Document{Path: s.doc.Path, Line: s.line + 1}, 0
}

// flush yields the current document, or an error if it is too large. It skips a blank
// document.
func (s *splitter) flush() {
	switch {
	case s.size > MaxSize:
		s.fault(s.doc.Line, fmt.Errorf("the document is larger than %d MiB", MaxSize>>20))
	case !s.ended && !Blank(s.doc.Text):
		s.ended = !s.yield(s.doc, nil)
	}
}

func (s *splitter) fault(line int, err error) {
	if !s.ended {
		s.ended = !s.yield(Document{Path: s.doc.Path, Line: line}, &Error{s.doc.Path, line, err})
	}
}
