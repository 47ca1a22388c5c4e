package xpkg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/xfn-dev/xfn/internal/ioerror"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// maxYAML is the most bytes that a package root, and package.yaml, may have
// in all: the control plane reads no more than 200 MiB.
const maxYAML = 200 << 20

// A Package is the content of a package root, read and checked.
type Package struct {
	// Meta is the package metadata: the one meta.pkg.crossplane.io object.
	Meta Object
	// Objects are the other objects, in the order that they were read.
	Objects []Object
	// YAML is package.yaml: the metadata, then the objects.
	YAML []byte
	// Examples is examples.yaml. It is nil if there are no examples, and empty
	// if their directory holds none.
	Examples []byte
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
	// package root, it is no part of the package. It need not exist.
	ExamplesRoot string
	// Ignore are patterns of files to leave out, relative to the package root
	// and to the examples root, as for filepath.Match.
	Ignore []string
}

// Read reads the package whose root directory is root: the .yaml and .yml
// files in it and its directories, in the order of their names. Any of them
// may hold the package metadata.
//
// Everything that would silently not reach the control plane is an error that
// names the file and line: fields that the object's type lacks, keys that
// occur twice, content after the end of a document, files that cannot be read,
// links that lead out of the root or to directories.
func Read(ctx context.Context, fsys afero.Fs, root string, opts ReadOptions) (*Package, error) {
	if root == "" {
		root = "."
	}
	if dir, err := afero.IsDir(fsys, root); err != nil {
		return nil, fmt.Errorf("reading package root %q: %w", root, ioerror.Cause(err))
	} else if !dir {
		return nil, fmt.Errorf("reading package root %q: it is not a directory", root)
	}
	r := &rootReader{fs: fsys, left: maxYAML}
	paths, err := yamlFiles(fsys, root, opts.ExamplesRoot, opts.Ignore)
	if err != nil {
		return nil, err
	}
	var all []decoded
	for _, path := range paths {
		objs, err := r.objects(ctx, path)
		if err != nil {
			return nil, err
		}
		all = append(all, objs...)
	}
	pkg, err := assemble(root, all)
	if err != nil {
		return nil, err
	}
	pkg.Examples, err = r.examples(ctx, opts)
	return pkg, err
}

// A rootReader reads the files of a package, up to left bytes.
type rootReader struct {
	fs   afero.Fs
	left int64
}

func (r *rootReader) file(ctx context.Context, path string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading %q: %w", path, context.Cause(ctx))
	}
	info, err := r.fs.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, ioerror.Cause(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %q: it is not a regular file", path)
	}
	if r.left -= info.Size(); r.left < 0 {
		return nil, fmt.Errorf("reading %q: the package has more than %d MiB of YAML", path, maxYAML>>20)
	}
	data, err := afero.ReadFile(r.fs, path)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, ioerror.Cause(err))
	}
	return data, nil
}

func (r *rootReader) objects(ctx context.Context, path string) ([]decoded, error) {
	data, err := r.file(ctx, path)
	if err != nil {
		return nil, err
	}
	docs, err := manifest.Split(path, data)
	if err != nil {
		return nil, err
	}
	objs := make([]decoded, 0, len(docs))
	for _, doc := range docs {
		doc, err := withoutEnd(doc)
		if err != nil {
			return nil, err
		}
		if len(doc.Text) == 0 {
			continue
		}
		obj, err := decode(doc)
		if err != nil {
			return nil, err
		}
		objs = append(objs, obj)
	}
	return objs, nil
}

// examples returns the files of the examples root as they are, each closed by
// a document end and a separator, as the incumbent does.
func (r *rootReader) examples(ctx context.Context, opts ReadOptions) ([]byte, error) {
	if opts.ExamplesRoot == "" {
		return nil, nil
	}
	if _, err := r.fs.Stat(opts.ExamplesRoot); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	paths, err := yamlFiles(r.fs, opts.ExamplesRoot, "", opts.Ignore)
	if err != nil {
		return nil, err
	}
	all := []byte{}
	for _, path := range paths {
		data, err := r.file(ctx, path)
		if err != nil {
			return nil, err
		}
		if err := checkExample(path, data); err != nil {
			return nil, err
		}
		all = append(append(all, data...), "\n...\n\n---\n"...)
	}
	return all, nil
}

func checkExample(path string, data []byte) error {
	docs, err := manifest.Split(path, data)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		doc, err := withoutEnd(doc)
		if err != nil {
			return err
		}
		if len(doc.Text) == 0 {
			continue
		}
		obj, err := doc.Object()
		if err != nil {
			return err
		}
		if kind, ok := obj["kind"].(string); !ok || kind == "" {
			return &manifest.Error{Path: doc.Path, Line: doc.Line, Err: errors.New("the example has no kind")}
		}
	}
	return nil
}

// assemble puts the one metadata object first and checks that the others may
// be in its kind of package.
func assemble(root string, all []decoded) (*Package, error) {
	var metas, others []decoded
	for _, d := range all {
		if isMeta(d.Object) {
			metas = append(metas, d)
			continue
		}
		others = append(others, d)
	}
	if len(metas) != 1 {
		return nil, metaCount(root, metas)
	}
	if err := metas[0].checkConstraints(); err != nil {
		return nil, err
	}
	pkg := &Package{Meta: metas[0].Object}
	var text bytes.Buffer
	text.WriteString("---\n")
	text.Write(metas[0].yaml)
	text.WriteString("---\n")
	for _, d := range others {
		if err := checkAllowed(pkg.Meta.Kind, d.Object); err != nil {
			return nil, err
		}
		pkg.Objects = append(pkg.Objects, d.Object)
		text.Write(d.yaml)
		text.WriteString("---\n")
	}
	pkg.YAML = text.Bytes()
	return pkg, nil
}

func metaCount(root string, metas []decoded) error {
	if len(metas) == 0 {
		err := fmt.Errorf("package root %q holds no package metadata: no .yaml or .yml file in it has an object of %s", root, metaGroup)
		return hint.Wrap(err, "write a crossplane.yaml, or name the directory that has it with --package-root")
	}
	where := make([]string, 0, len(metas))
	for _, m := range metas {
		where = append(where, fmt.Sprintf("%s (%s %s)", m.Position(), m.Kind, m.Name))
	}
	err := fmt.Errorf("package root %q holds %d package metadata objects, and must hold one: %s", root, len(metas), strings.Join(where, ", "))
	return hint.Wrap(err, "leave files out with --ignore, or move them out of the package root")
}
