package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// A Suite is a suite and where it was found.
type Suite struct {
	// Name is what reports call it: metadata.name, or the file's path if it has
	// none, or another suite has the same.
	Name string
	// Path is the file, as the user named it or the folder it is in.
	Path string
	// Suite is nil if Err is not, which is all that is wrong with it as a whole.
	*spec.Suite
	Err error
}

// ErrNone says that there is no suite where one was looked for.
var ErrNone = errors.New("there is no suite")

// Load returns the suites of files and folders, in the order of the paths, those
// of a folder and of all below it in the order of their names. A folder may
// stand with "/..." behind it. In folders any .yaml or .yml file counts that has
// documents of kind TestSuite; hidden folders and links are passed over, but for a
// link that is itself a path. A file that cannot be read as a suite is one with an
// Err. A path where nothing is is an error; ErrNone is that of no suites at all.
func Load(ctx context.Context, r manifest.Reader, paths []string) ([]*Suite, error) {
	var files []string
	named := map[string]bool{}
	for _, path := range paths {
		found, err := find(ctx, r.FS, path)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if f.explicit || !slices.Contains(files, f.path) {
				files = append(files, f.path)
			}
			named[f.path] = named[f.path] || f.explicit
		}
	}
	var all []*Suite
	for _, file := range slices.Compact(files) {
		suites, err := load(ctx, r, file, named[file])
		if err != nil {
			return nil, err
		}
		all = append(all, suites...)
	}
	if len(all) == 0 {
		return nil, hint.Wrap(fmt.Errorf("looking in %s: %w", strings.Join(paths, ", "), ErrNone),
			"a suite is a YAML file with apiVersion: "+spec.APIVersion+" and kind: "+spec.Kind)
	}
	nameAll(all)
	return all, nil
}

// nameAll gives suites names of their own.
func nameAll(all []*Suite) {
	count := map[string]int{}
	for _, s := range all {
		if s.Suite != nil {
			s.Name = s.Suite.Name
		}
		count[s.Name]++
	}
	for _, s := range all {
		if s.Name == "" || count[s.Name] > 1 {
			s.Name = filepath.ToSlash(s.Path)
		}
	}
}

// isLinkToDir reports whether a path that was named is a link to a folder.
func isLinkToDir(fsys afero.Fs, path string) bool {
	l, ok := fsys.(afero.Lstater)
	if !ok {
		return false
	}
	info, _, err := l.LstatIfPossible(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	is, err := afero.IsDir(fsys, path)
	return err == nil && is
}

type found struct {
	path string
	// explicit says that the file itself was named.
	explicit bool
}

func find(ctx context.Context, fsys afero.Fs, path string) ([]found, error) {
	if dir, ok := strings.CutSuffix(filepath.ToSlash(path), "/..."); ok {
		path = filepath.FromSlash(dir)
	}
	path = filepath.Clean(path)
	if isLinkToDir(fsys, path) { // which Walk does not follow
		path += string(filepath.Separator)
	}
	var all []found
	err := afero.Walk(fsys, path, func(p string, info fs.FileInfo, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case p == path && !info.IsDir():
			all = append(all, found{p, true})
		case info.IsDir() && p != path && strings.HasPrefix(info.Name(), "."):
			return filepath.SkipDir
		case info.Mode().IsRegular() && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(p)):
			all = append(all, found{p, false})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for suites in %q: %w", path, fsx.Cause(err))
	}
	return all, nil
}

// mark is the line that each suite has, and hardly anything else.
var mark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^"?kind"?\s*:\s*["']?` + spec.Kind + `["']?\s*(#.*)?\r?$`)
})

// load returns the suites of a file. One that was named has to be one.
func load(ctx context.Context, r manifest.Reader, path string, explicit bool) ([]*Suite, error) {
	text, err := r.Bytes(ctx, path)
	if err != nil {
		return nil, err
	}
	if !explicit && !mark().Match(text) {
		return nil, nil
	}
	docs, err := manifest.Split(path, text)
	if err == nil && len(docs) == 0 {
		err = &manifest.Error{Path: path, Err: manifest.ErrEmpty}
	}
	if err != nil {
		return []*Suite{{Path: path, Err: err}}, nil
	}
	var all []*Suite
	for _, doc := range docs {
		if !explicit && !mark().Match(doc.Text) {
			continue
		}
		if obj, err := doc.Object(); err == nil && !explicit && !spec.Is(obj) {
			continue // of another tool
		}
		s := &Suite{Path: path}
		s.Suite, s.Err = spec.Parse(doc)
		all = append(all, s)
	}
	return all, nil
}
