package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/spf13/afero"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
)

// maxYAML limits the bytes of a package root and of package.yaml, as Crossplane does.
const maxYAML = 200 << 20

// maxAtOnce limits the bytes that are decoded concurrently, which needs 50
// times as much memory.
const maxAtOnce = 16 << 20

// A Package is the content of a package root, read and checked.
type Package struct {
	// Meta is the package metadata: the one meta.pkg.crossplane.io object.
	Meta        Object
	Annotations map[string]string
	// Objects are all objects except the metadata, in the order of reading.
	Objects []Object
	// YAML is package.yaml: the metadata, then the objects. It is nil if Read also returns an error.
	YAML []byte
	// Examples is examples.yaml. It is nil without a directory of examples.
	Examples []byte
	// Warnings are the problems that are not errors at the level at which the package was read.
	Warnings Problems
}

// An Object identifies a Kubernetes object of a package.
type Object struct {
	// Path is the file, and Line the line on which the object begins.
	Path string
	Line int
	// Name may be empty.
	APIVersion, Kind, Name string
}

// Position returns "path:line".
func (o Object) Position() string { return fmt.Sprintf("%s:%d", o.Path, o.Line) }

// ReadOptions are the options of Read. With the zero value, Read reads no
// examples and ignores no files.
type ReadOptions struct {
	// ExamplesRoot is the path of a directory or file of examples in the file system,
	// not relative to the package root. Read does not read it as a part of package.yaml.
	ExamplesRoot string
	// ExamplesOptional says that ExamplesRoot need not exist.
	ExamplesOptional bool
	// ExtensionsRoot is the directory that ReadExtensions reads, which Read leaves out.
	ExtensionsRoot string
	// Ignore are patterns of files and directories to leave out, relative
	// to the package or examples root. They have the syntax of
	// filepath.Match, and "**" matches any number of directories. A wildcard in
	// the last part matches directories only if "/" follows.
	Ignore []string
	// Lint says which problems are errors.
	Lint  Level
	Rules []Rule
	// Tolerated are the names of rules whose problems are warnings. A problem with Refused set
	// stays an error.
	Tolerated []string
	// Without are the names of rules that do not apply.
	Without []string
	// Progress is called with the bytes of YAML that Read has decoded or checked, and their total.
	// It may be nil.
	Progress func(text string, done, total int64)
}

// Read reads the package in the directory root: its .yaml and .yml files, including files
// in sub-directories, in the order of their names. It leaves out objects of the group
// xfn.dev, such as test suites, and what a file .xpkgignore in root lists.
//
// Read returns all errors in the content as one error of type Problems, and a Package with the
// other problems. At every level, content that the control plane would refuse is an error, and
// so is a link out of root. Content that would not reach the control plane is an error at the
// level Strict; at other levels, Read leaves it out.
func Read(ctx context.Context, fsys afero.Fs, root string, opts ReadOptions) (*Package, error) {
	return proc.Await(ctx, func() (*Package, error) { return readRoot(ctx, fsys, root, opts) })
}

func readRoot(ctx context.Context, fsys afero.Fs, root string, opts ReadOptions) (*Package, error) {
	root = cmp.Or(root, ".")
	if dir, err := afero.IsDir(fsys, root); err != nil {
		return nil, hint.Wrap(fmt.Errorf("reading package root %q: %w", root, fsx.Cause(err)), manifest.Similar(fsys, root))
	} else if !dir {
		return nil, hint.Wrap(fmt.Errorf("reading package root %q: it is not a directory", root), "name the directory of the file: "+filepath.Dir(root))
	}
	r := &rootReader{fs: fsys, left: maxYAML, report: opts.Progress}
	others := slices.DeleteFunc([]string{opts.ExamplesRoot, opts.ExtensionsRoot}, func(dir string) bool { return dir == "" })
	read, err := r.files(ctx, root, others, opts.Ignore, decodeSource)
	if err != nil {
		return nil, err
	}
	return r.finish(ctx, fmt.Sprintf("package root %q", root), read, opts)
}

// A Source is a YAML file of a package.
type Source struct {
	// Path is the path of the file in problems and objects.
	Path string
	Data []byte
}

// ReadSources is Read for files that the caller has read. The objects are in the order of
// the files, except that the metadata is the first. where names the package in errors. Of
// opts, only the fields about examples, Lint and Rules apply to it; examples are in fsys.
func ReadSources(ctx context.Context, where string, sources []Source, fsys afero.Fs, opts ReadOptions) (*Package, error) {
	return proc.Await(ctx, func() (*Package, error) {
		r := &rootReader{fs: fsys, left: maxYAML}
		for _, s := range sources {
			if r.left -= int64(len(s.Data)); r.left < 0 {
				return nil, fmt.Errorf("reading %q: the package has more than %d MiB of YAML", s.Path, maxYAML>>20)
			}
		}
		read, err := r.decode(ctx, len(sources), func(i int) (int64, func() contents) {
			s := sources[i]
			return int64(len(s.Data)), func() contents { return decodeAll(s.Path, s.Data, decodeSource) }
		})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", where, err)
		}
		return r.finish(ctx, where, read, opts)
	})
}

func (r *rootReader) finish(ctx context.Context, where string, read contents, opts ReadOptions) (_ *Package, err error) {
	c, found := assemble(where, read.objects, read.broken)
	if len(found) > 0 && c.meta.Kind == "" && r.lost.Text != "" {
		found[0].Text, found[0].Hint = where+" contains no package metadata: "+r.lost.Text, cmp.Or(r.lost.Hint, found[0].Hint)
	}
	r.found = append(r.found, found...)
	pkg := &Package{Meta: c.meta.Object, Annotations: fieldpath.Texts(c.meta.data, "metadata", "annotations")}
	for _, d := range c.objects {
		pkg.Objects = append(pkg.Objects, d.Object)
	}
	if pkg.Examples, c.examples, err = r.examples(ctx, opts); err != nil {
		return nil, err
	}
	if found, err = lint(ctx, c, opts.Rules, opts.Progress); err != nil {
		return nil, fmt.Errorf("reading %s: %w", where, err)
	}
	found = slices.DeleteFunc(append(r.found, found...), func(p Problem) bool { return slices.Contains(opts.Without, p.Rule) })
	for i, f := range found {
		found[i].Warning = f.Warning || slices.Contains(opts.Tolerated, f.Rule)
	}
	if pkg.Warnings, err = opts.Lint.Apply(found); err != nil {
		return pkg, err
	}
	if pkg.YAML, err = c.encode(ctx); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", where, err)
	}
	return pkg, nil
}

// A rootReader reads files of up to left bytes in total and collects their problems.
type rootReader struct {
	fs    afero.Fs
	left  int64
	found Problems
	// lost says why the file crossplane.yaml is not read, if it exists.
	lost Problem
	// report is ReadOptions.Progress.
	report func(text string, done, total int64)
}

type contents struct {
	text    [][]byte
	objects []decoded
	// broken is true if a document that was not decoded may be the metadata.
	broken bool
	found  Problems
}

// A decoder decodes a document. If it cannot, ok is false and found says why.
type decoder func(manifest.Document) (d decoded, ok bool, found Problems)

// files reads the YAML files below root, several at once.
func (r *rootReader) files(ctx context.Context, root string, except, ignore []string, decode decoder) (all contents, err error) {
	files, err := r.yamlFiles(root, except, ignore)
	if err != nil {
		return all, err
	}
	for _, f := range files {
		if r.left -= f.size; r.left < 0 {
			return all, fmt.Errorf("reading %q: the package has more than %d MiB of YAML", f.path, maxYAML>>20)
		}
	}
	m := meter{Counter: progress.Counter{Text: "reading the objects", Report: progress.FromPlain(r.report)}}
	for _, f := range files {
		m.Total += f.size
	}
	defer m.finish()
	counted := func(doc manifest.Document) (decoded, bool, Problems) {
		defer m.add(len(doc.Text))
		return decode(doc)
	}
	return r.decode(ctx, len(files), func(i int) (int64, func() contents) {
		return files[i].size, func() contents { return r.file(files[i], counted) }
	})
}

// A meter is a Counter of several goroutines.
type meter struct {
	sync.Mutex
	progress.Counter
}

// finish sends the last event, if there was anything to count.
func (m *meter) finish() {
	if m.Total > 0 {
		m.Finish()
	}
}

func (m *meter) add(n int) {
	m.Lock()
	defer m.Unlock()
	m.Add(n)
}

// decode decodes n files, several at once. file returns the size of a file, and a function
// that decodes it.
func (r *rootReader) decode(ctx context.Context, n int, file func(int) (size int64, decode func() contents)) (all contents, err error) {
	each := make([]contents, n)
	decoders := make([]func() contents, n)
	size := func(i int) (size int64) {
		size, decoders[i] = file(i)
		return size
	}
	if err := severalAtOnce(ctx, n, size, func(i int) { each[i] = decoders[i]() }); err != nil {
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

// severalAtOnce calls do with each index below n, several at once. size returns the bytes that do
// decodes. It returns the cause if ctx is done.
func severalAtOnce(ctx context.Context, n int, size func(int) int64, do func(int)) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	large := semaphore.NewWeighted(maxAtOnce)
	for i := range n {
		g.Go(func() error {
			size := min(size(i), maxAtOnce)
			if err := large.Acquire(ctx, size); err != nil {
				return context.Cause(ctx)
			}
			defer large.Release(size)
			do(i)
			return nil
		})
	}
	return g.Wait()
}

func (r *rootReader) file(f file, decode decoder) contents {
	data, err := r.bytes(f)
	if err != nil {
		text := "cannot be read: " + fsx.Cause(err).Error()
		return contents{found: Problems{{Rule: "file", Path: f.path, Text: text, Hint: hintFile}}}
	}
	return decodeAll(f.path, data, decode)
}

func decodeAll(path string, data []byte, decode decoder) contents {
	docs, found := documents(path, data)
	all := contents{text: [][]byte{data}, found: found, broken: slices.ContainsFunc(found, func(p Problem) bool { return p.Refused }), objects: make([]decoded, 0, len(docs))}
	type result struct {
		decoded
		ok    bool
		found Problems
	}
	each := make([]result, len(docs))
	proc.Each(runtime.GOMAXPROCS(0), len(docs), func(i int) { each[i].decoded, each[i].ok, each[i].found = decode(docs[i]) })
	for _, d := range each {
		all.found = append(all.found, d.found...)
		if d.ok {
			all.objects = append(all.objects, d.decoded)
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
	if err == nil {
		return nil, errors.New("the file grows while it is read")
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// examples returns the text of all files of the examples root and their objects. As
// the crossplane CLI does, it ends each file with a document end and a separator.
func (r *rootReader) examples(ctx context.Context, opts ReadOptions) (text []byte, all []decoded, err error) {
	if opts.ExamplesRoot == "" {
		return nil, nil, nil
	}
	if _, err := r.fs.Stat(opts.ExamplesRoot); errors.Is(err, fs.ErrNotExist) {
		if !opts.ExamplesOptional {
			r.omit("file", opts.ExamplesRoot, "the examples do not exist", string("name their directory with "+hint.ExamplesRoot))
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
