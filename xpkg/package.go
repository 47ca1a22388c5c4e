package xpkg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"

	"github.com/spf13/afero"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// maxYAML is the most bytes that a package root, and package.yaml, may have
// in all: the control plane reads no more than 200 MiB.
const maxYAML = 200 << 20

// maxAtOnce is the most bytes of files that are decoded at once, if they are
// several: that takes some fifty times as much memory.
const maxAtOnce = 16 << 20

// A Package is the content of a package root, read and checked.
type Package struct {
	// Meta is the package metadata: the one meta.pkg.crossplane.io object.
	Meta Object
	// Annotations are those of the metadata.
	Annotations map[string]string
	// Objects are the other objects, in the order that they were read.
	Objects []Object
	// YAML is package.yaml: the metadata, then the objects.
	YAML []byte
	// Examples is examples.yaml. It is nil if there are no examples, and empty
	// if their directory holds none.
	Examples []byte
	// Warnings are the problems that the package has all the same, if it was
	// read at the level Warn.
	Warnings Problems
}

// An Object is a Kubernetes object of a package and where it came from.
type Object struct {
	// Path and Line are the file and the line that it begins on.
	Path string
	Line int
	// APIVersion, Kind and Name identify it. Name may be empty.
	APIVersion, Kind, Name string
}

// Position returns "path:line".
func (o Object) Position() string { return fmt.Sprintf("%s:%d", o.Path, o.Line) }

// ReadOptions say how to read a package root. The zero value has no examples
// and ignores nothing.
type ReadOptions struct {
	// ExamplesRoot is a directory of examples, or a file. If it lies in the
	// package root, it is no part of the package.
	ExamplesRoot string
	// ExamplesOptional says that ExamplesRoot need not exist.
	ExamplesOptional bool
	// ExtensionsRoot is a directory that is no part of the package either, if it
	// lies in the package root. Package extension reads it.
	ExtensionsRoot string
	// Ignore are patterns of files and directories to leave out, relative to the
	// package root and to the examples root, or beginning with its path. They are
	// those of filepath.Match, and "**" is any number of directories.
	Ignore []string
	// Lint says which problems are errors.
	Lint Level
	// Rules find problems besides those that Read knows of.
	Rules []Rule
}

// others are what is no part of the package itself.
func (o ReadOptions) others() []string {
	return slices.DeleteFunc([]string{o.ExamplesRoot, o.ExtensionsRoot}, func(dir string) bool { return dir == "" })
}

// Read reads the package whose root directory is root: the .yaml and .yml
// files in it and its directories, in the order of their names. Any of them
// may hold the package metadata.
//
// What is wrong with the content is an error of type Problems, with all that is
// wrong, by file and line. It has what the control plane refuses, and at the
// level Strict also what would silently not reach it: fields that the object's
// type lacks, keys that occur twice, content after the end of a document, files
// that cannot be read, links to directories. At the other levels the package
// is read without. A link that leads to a file out of the root is refused
// at each.
func Read(ctx context.Context, fsys afero.Fs, root string, opts ReadOptions) (*Package, error) {
	if root == "" {
		root = "."
	}
	if dir, err := afero.IsDir(fsys, root); err != nil {
		return nil, fmt.Errorf("reading package root %q: %w", root, fsx.Cause(err))
	} else if !dir {
		return nil, fmt.Errorf("reading package root %q: it is not a directory", root)
	}
	r := &rootReader{fs: fsys, left: maxYAML}
	read, err := r.files(ctx, root, opts.others(), opts.Ignore, decode)
	if err != nil {
		return nil, err
	}
	c, found := assemble(fmt.Sprintf("package root %q", root), read.objects, read.broken)
	r.found = append(r.found, found...)
	pkg := &Package{Meta: c.meta.Object, Annotations: annotationsOf(c.meta.data), YAML: c.yaml()}
	for _, d := range c.objects {
		pkg.Objects = append(pkg.Objects, d.Object)
	}
	if pkg.Examples, c.examples, err = r.examples(ctx, opts); err != nil {
		return nil, err
	}
	if found, err = lint(ctx, c, opts.Rules); err != nil {
		return nil, fmt.Errorf("reading package root %q: %w", root, err)
	}
	if pkg.Warnings, err = opts.Lint.Judge(append(r.found, found...)); err != nil {
		return nil, err
	}
	return pkg, nil
}

// A rootReader reads the files of a package, up to left bytes, and notes what
// is wrong with them.
type rootReader struct {
	fs    afero.Fs
	left  int64
	found Problems
}

// contents are what files hold, and what is wrong with them.
type contents struct {
	text    [][]byte
	objects []decoded
	// broken says that a document which cannot be decoded may be metadata.
	broken bool
	found  Problems
}

// A decoder decodes a document, or returns false and why not.
type decoder func(manifest.Document) (d decoded, ok bool, found Problems)

// files reads the YAML files below root, several at once.
func (r *rootReader) files(ctx context.Context, root string, except, ignore []string, decode decoder) (all contents, err error) {
	files, found, err := yamlFiles(r.fs, root, except, ignore)
	if err != nil {
		return all, err
	}
	r.found = append(r.found, found...)
	for _, f := range files {
		if r.left -= f.size; r.left < 0 {
			return all, fmt.Errorf("reading %q: the package has more than %d MiB of YAML", f.path, maxYAML>>20)
		}
	}
	each := make([]contents, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	large := semaphore.NewWeighted(maxAtOnce)
	for i, f := range files {
		g.Go(func() error {
			n := min(f.size, maxAtOnce)
			if err := large.Acquire(ctx, n); err != nil {
				return fmt.Errorf("reading %q: %w", f.path, context.Cause(ctx))
			}
			defer large.Release(n)
			each[i] = r.file(f, decode)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return all, err
	}
	for _, f := range each {
		all.text = append(all.text, f.text...)
		all.objects = append(all.objects, f.objects...)
		all.broken = all.broken || f.broken
		r.found = append(r.found, f.found...)
	}
	return all, nil
}

// file reads a file.
func (r *rootReader) file(f file, decode decoder) contents {
	data, err := r.bytes(f)
	if err != nil {
		text := "it cannot be read: " + fsx.Cause(err).Error()
		return contents{found: Problems{{Rule: "file", Path: f.path, Text: text, Hint: hintFile}}}
	}
	return decodeAll(f.path, data, decode)
}

// decodeAll decodes the documents of a file.
func decodeAll(path string, data []byte, decode decoder) contents {
	docs, found := documents(path, data)
	all := contents{text: [][]byte{data}, found: found, broken: found.refused(), objects: make([]decoded, 0, len(docs))}
	for _, doc := range docs {
		d, ok, found := decode(doc)
		all.found = append(all.found, found...)
		if ok {
			all.objects = append(all.objects, d)
		} else if d.APIVersion == "" || isMeta(d.Object) {
			all.broken = true
		}
	}
	return all
}

func (r *rootReader) bytes(f file) ([]byte, error) {
	in, err := r.fs.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data := make([]byte, f.size+1)
	n, err := io.ReadFull(in, data)
	switch {
	case err == nil:
		return nil, errors.New("it grows while it is read")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return data[:n], nil
	default:
		return nil, err
	}
}

// examples returns the files of the examples root as they are, each closed by
// a document end and a separator, as the incumbent does, and what they hold.
func (r *rootReader) examples(ctx context.Context, opts ReadOptions) (text []byte, all []decoded, err error) {
	if opts.ExamplesRoot == "" {
		return nil, nil, nil
	}
	if _, err := r.fs.Stat(opts.ExamplesRoot); errors.Is(err, fs.ErrNotExist) {
		if !opts.ExamplesOptional {
			r.found = append(r.found, Problem{Rule: "file", Path: opts.ExamplesRoot, Text: "there are no such examples", Hint: string("name their directory with " + hint.ExamplesRoot)})
		}
		return nil, nil, nil
	}
	read, err := r.files(ctx, opts.ExamplesRoot, nil, opts.Ignore, decodeExample)
	if err != nil {
		return nil, nil, err
	}
	text = []byte{}
	for _, data := range read.text {
		text = append(append(text, data...), "\n...\n\n---\n"...)
	}
	return text, read.objects, nil
}
