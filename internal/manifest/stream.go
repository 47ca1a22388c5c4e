package manifest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// Split cuts data, the content of path, into its documents, at lines that
// begin with "---". Documents that hold nothing but blanks and comments are
// left out. A separator line may only hold blanks or a comment besides; any
// other is an *Error.
func Split(path string, data []byte) ([]Document, error) {
	var docs []Document
	for doc, err := range split(path, bytes.NewReader(data)) {
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// Stream returns the documents of a file, or of the .yaml and .yml files of a
// folder and of those in it, by name. Only one is held at a time, so that a file
// may have any size, and a document MaxSize. What is wrong comes in place of a
// document, with its Path and Line, and those after it follow.
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
				err = fmt.Errorf("reading %q: %w", name, fsx.Cause(err))
				if !yield(Document{Path: name}, err) {
					return fs.SkipAll
				}
				return nil
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case name != path && (!info.Mode().IsRegular() || filepath.Ext(name) != ".yaml" && filepath.Ext(name) != ".yml"):
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

// stream yields the documents of a file, and reports whether more are wanted.
func (r Reader) stream(ctx context.Context, path string, yield func(Document, error) bool) bool {
	in, err := r.open(ctx, path)
	if err != nil {
		return yield(Document{Path: path}, err)
	}
	defer in.Close()
	from, stop := interruptible(ctx, in)
	defer stop()
	for doc, err := range split(path, from) {
		if !yield(doc, err) {
			return false
		}
	}
	return true
}

// open opens a file, or standard input, which stays open. A pipe that nobody
// writes to is waited for until the context ends.
func (r Reader) open(ctx context.Context, path string) (io.ReadCloser, error) {
	if path != Stdin {
		f, err := r.openFile(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
		}
		return f, nil
	}
	if r.Stdin == nil {
		return nil, errors.New("reading \"-\": there is no standard input")
	}
	return io.NopCloser(r.Stdin), nil
}

func (r Reader) openFile(ctx context.Context, path string) (afero.File, error) {
	type result struct {
		file afero.File
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		f, err := r.FS.Open(path)
		opened <- result{f, err}
	}()
	select {
	case o := <-opened:
		return o.file, o.err
	case <-ctx.Done():
		go func() {
			if o := <-opened; o.err == nil {
				o.file.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// interruptible returns in, which may never end, until the context does. After
// the returned function was called, in is not waited for.
func interruptible(ctx context.Context, in io.Reader) (io.Reader, func()) {
	out, pipe := io.Pipe()
	unhook := context.AfterFunc(ctx, func() { pipe.CloseWithError(context.Cause(ctx)) })
	go func() {
		_, err := io.CopyBuffer(pipe, struct{ io.Reader }{in}, make([]byte, 64<<10))
		pipe.CloseWithError(err)
	}()
	return out, func() {
		unhook()
		out.Close()
	}
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
				s.take(part)
				s.flush()
				return
			case err != nil && !errors.Is(err, bufio.ErrBufferFull):
				yield(Document{Path: path}, fmt.Errorf("reading %q: %w", path, fsx.Cause(err)))
				return
			}
			s.take(part)
			s.within = err != nil
			if !s.within {
				s.line++
			}
		}
	}
}

// A splitter cuts a file into documents.
type splitter struct {
	yield func(Document, error) bool
	ended bool
	// line is where it is, within says that the line has begun already, and
	// separator that it is one.
	line              int
	within, separator bool
	// doc is the document so far, and size its size, which may be too much.
	doc  Document
	size int
}

// take takes a line or a part of one.
func (s *splitter) take(part []byte) {
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
	if s.size += len(part); s.size <= MaxSize {
		s.doc.Text = append(s.doc.Text, part...)
	}
}

// next begins a document after its separator.
func (s *splitter) next(separator []byte) {
	if rest := bytes.TrimSpace(separator[len("---"):]); len(rest) > 0 && rest[0] != '#' {
		s.fault(s.line, fmt.Errorf("a document separator is followed by %q on its line", clip(rest)))
	}
	s.doc, s.size = Document{Path: s.doc.Path, Line: s.line + 1}, 0
}

// flush yields the document, if it is one.
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
