package gotemplating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

const separator = "\n---\n"

// Limits of a template: its size in bytes, and the number of its files. The real
// function accepts gRPC messages of up to 4 MiB.
const (
	maxTemplate = 4 << 20
	maxFiles    = 10_000
)

// parts returns the parts of the template from the source that the input selects. values is
// the context of the request.
func (r *runner) parts(ctx context.Context, in *GoTemplate, values *structpb.Struct) (parts, error) {
	switch in.Source {
	case "":
		return r.defaultParts(ctx)
	case inlineSource:
		return in.Inline.parts()
	case fileSystemSource:
		return r.files(ctx, in.FileSystem)
	case environmentSource:
		return in.Environment.parts(values)
	default:
		return nil, fmt.Errorf("invalid source: %s", in.Source)
	}
}

// defaultParts returns the template of an input without a source.
func (r *runner) defaultParts(ctx context.Context) (all parts, err error) {
	dir := r.DefaultSource
	switch {
	case r.Source != "":
		dir = r.Source
		all, err = readTree(ctx, dir, ".", dir)
	case dir == "":
		return nil, errors.New("source is required")
	case !r.AnyFolder:
		return r.files(ctx, &TemplateSourceFileSystem{DirPath: dir})
	case hidden(filepath.Base(filepath.FromSlash(dir))):
		return nil, nil
	default:
		folder, inside := dir, "."
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			folder, inside = filepath.Dir(dir), filepath.Base(dir)
		}
		all, err = readTree(ctx, folder, inside, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read tmpl from the folder {%s}: %w", dir, err)
	}
	return all, nil
}

func (i *TemplateSourceInline) parts() (parts, error) {
	switch {
	case i == nil || i.Template == "" && len(i.Templates) == 0:
		return nil, errors.New("inline.template or inline.templates should be provided")
	case i.Template != "":
		return parts{{at: sdk.Location{Field: "inline.template"}, text: i.Template}}, nil
	}
	var all parts
	for n, text := range i.Templates {
		if n < len(i.Templates)-1 {
			text += separator
		}
		all = append(all, part{at: sdk.Location{Field: fmt.Sprintf("inline.templates[%d]", n)}, text: text})
	}
	return all, nil
}

func (e *TemplateSourceEnvironment) parts(in *structpb.Struct) (parts, error) {
	if e == nil || e.Key == "" {
		return nil, errors.New("environment.key should be provided")
	}
	env := in.GetFields()[sdk.EnvironmentKey].GetStructValue()
	if env == nil {
		return nil, fmt.Errorf("cannot read tmpl from the environment: %s key does not exist in context", sdk.EnvironmentKey)
	}
	v, ok := env.GetFields()[e.Key]
	if !ok {
		return nil, fmt.Errorf("cannot read tmpl from the environment: key: %s does not exist", e.Key)
	}
	if _, ok := v.GetKind().(*structpb.Value_StringValue); !ok {
		return nil, fmt.Errorf("cannot read tmpl from the environment: key: %s value is not a string", e.Key)
	}
	return parts{{text: v.GetStringValue()}}, nil
}

// files returns the files at f.DirPath, in the first folder that contains this path.
func (r *runner) files(ctx context.Context, f *TemplateSourceFileSystem) (parts, error) {
	if f == nil || f.DirPath == "" {
		return nil, errors.New("fileSystem.dirPath should be provided")
	}
	var failed error
	for _, folder := range r.folders {
		all, err := r.readFolder(ctx, folder, f.DirPath)
		if err == nil {
			return all, nil
		}
		if failed == nil || absent(failed) && !absent(err) {
			failed = err
		}
	}
	return nil, fmt.Errorf("cannot read tmpl from the folder {%s}: %w", f.DirPath, failed)
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func (r *runner) readFolder(ctx context.Context, folder Folder, dirPath string) (parts, error) {
	if base := filepath.Base(filepath.FromSlash(dirPath)); base == "." || base == ".." {
		return nil, nil // A name that begins with a dot is ignored, so the template is empty.
	}
	inside, err := folder.within(dirPath)
	if err != nil {
		return nil, err
	}
	if r.Search != nil {
		r.Search(filepath.Join(folder.Dir, inside))
	}
	return readTree(ctx, folder.Dir, inside, dirPath)
}

// readTree returns the files at the path inside of a folder. Errors name them by dirPath.
func readTree(ctx context.Context, folder, inside, dirPath string) (parts, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t := &tree{root: root, inside: inside, dirPath: dirPath}
	info, err := root.Stat(inside)
	if err != nil {
		return nil, t.explain("open", inside, err)
	}
	if inside == "." || !hidden(filepath.Base(filepath.FromSlash(dirPath))) {
		err = t.read(ctx, inside, info.IsDir())
	}
	return t.parts, err
}

// within returns dirPath relative to the folder. If it is not in the folder, within returns
// the error of the real function, whose container has no other files.
func (f Folder) within(dirPath string) (string, error) {
	outside := &fs.PathError{Op: "open", Path: dirPath, Err: syscall.ENOENT}
	if f.At != "" {
		inside, ok := strings.CutPrefix(path.Clean(dirPath)+"/", strings.TrimSuffix(path.Clean(f.At), "/")+"/")
		if !ok {
			return "", outside
		}
		return filepath.FromSlash(path.Clean(inside)), nil
	}
	inside := filepath.Clean(filepath.FromSlash(dirPath))
	if filepath.IsAbs(inside) {
		abs, err := filepath.Abs(f.Dir)
		if err != nil {
			return "", err
		}
		if inside, err = filepath.Rel(abs, inside); err != nil {
			return "", outside
		}
	}
	if !filepath.IsLocal(inside) {
		return "", outside
	}
	return inside, nil
}

// A tree reads files. Its errors contain paths as the input spells them.
type tree struct {
	root            *os.Root
	inside, dirPath string
	parts           parts
	size, files     int
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// read adds a file, or all files in a folder, sorted by name and
// without hidden files. It follows symbolic links.
func (t *tree) read(ctx context.Context, name string, isFolder bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.files++; t.files > maxFiles {
		return fmt.Errorf("the folder has more than %d files", maxFiles)
	}
	if !isFolder {
		return t.readFile(name)
	}
	entries, err := t.entries(name)
	if err != nil {
		return t.explain("open", name, err)
	}
	for _, e := range entries {
		if hidden(e.Name()) {
			continue
		}
		if err := t.read(ctx, filepath.Join(name, e.Name()), e.IsDir()); err != nil {
			return err
		}
	}
	return nil
}

// open opens a file. It does not block if the file was replaced by a named pipe
// after it was listed.
func (t *tree) open(name string) (*os.File, error) {
	return t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (t *tree) entries(name string) ([]fs.DirEntry, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

func (t *tree) readFile(name string) error {
	f, err := t.open(name)
	if err != nil {
		return t.explain("open", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return t.explain("read", name, err)
	case info.IsDir():
		return t.explain("read", name, syscall.EISDIR)
	case !info.Mode().IsRegular():
		return t.explain("read", name, errors.New("not a regular file"))
	}
	left := maxTemplate - t.size
	text, err := io.ReadAll(io.LimitReader(f, int64(left)+1))
	if err != nil {
		return t.explain("read", name, err)
	}
	if len(text) > left {
		return errTemplateSize
	}
	t.size += len(text) + len(separator)
	t.parts = append(t.parts, part{at: sdk.Location{File: filepath.Join(t.root.Name(), name)}, text: string(text) + separator})
	return nil
}

var errTemplateSize = fmt.Errorf("the template is larger than %d MiB", maxTemplate>>20)

// explain returns an error of package os with the path as the input spells it.
func (t *tree) explain(op, name string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	shown := t.dirPath
	if rel, relErr := filepath.Rel(t.inside, name); relErr == nil && rel != "." {
		shown = path.Join(t.dirPath, filepath.ToSlash(rel))
	}
	return &fs.PathError{Op: op, Path: shown, Err: err}
}

// parts are the texts that the real function joins to a template, in order.
type parts []part

// A part is an inline template or a file.
type part struct {
	// at is the place of the text, without a line.
	at sdk.Location
	// text ends with the separator that joins it to the next part.
	text string
}

func (p parts) text() string {
	if len(p) == 1 {
		return p[0].text
	}
	var b strings.Builder
	for _, one := range p {
		b.WriteString(one.text)
	}
	return b.String()
}

// locate returns the place of a line of the template, counted from 1. A line of a separator has
// the place of the last line before it.
func (p parts) locate(line int) sdk.Location {
	for i, one := range p {
		if lines := strings.Count(one.text, "\n"); line > lines && i < len(p)-1 {
			line -= lines
			continue
		}
		own := strings.TrimSuffix(strings.TrimSuffix(one.text, separator), "\n")
		at := one.at
		at.Line = min(line, strings.Count(own, "\n")+1)
		return at
	}
	return sdk.Location{}
}

// locateOpen returns the place of the block that has no end, or of the line if no block is found.
// left is the left delimiter of actions, or "" for the default.
func (p parts) locateOpen(line int, left string) sdk.Location {
	var last openBlock
	if open := openBlocks(p.text(), cmp.Or(left, "{{")); len(open) > 0 {
		last = open[len(open)-1]
	}
	at := p.locate(cmp.Or(last.line, line))
	if last.keyword != "" {
		at.Detail = "where " + last.keyword + ", or a block in it, has no end"
	}
	return at
}
