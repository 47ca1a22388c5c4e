package typescript

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
)

// A view is a temporary folder that shows a project together with the packages of a tree in
// node_modules, as after npm ci. It consists of folders and symbolic links. The folders
// node_modules of the project itself are not in it.
type view struct {
	*project
	*tree
	// at is the path of the folder. It corresponds to the root of the project.
	at string
	// folders are the paths in the view that are folders and not links. children are the
	// folders and packages in each of them.
	folders  map[string]bool
	children map[string][]string
	// packages has the packages by their paths in the view.
	packages map[string]*npm.Package
	// external are the names of the packages that cannot be bundled.
	external []string
}

// newView fills the empty folder at.
func newView(ctx context.Context, p *project, t *tree, at string) (*view, error) {
	v := &view{project: p, tree: t, at: at, folders: map[string]bool{".": true}, children: map[string][]string{}, packages: map[string]*npm.Package{}, external: t.externals()}
	v.keep(v.relative("."))
	for _, pkg := range t.packages {
		if pkg.Bundled {
			continue
		}
		at, err := v.path(pkg.At)
		if err != nil {
			return nil, err
		}
		v.keep(path.Dir(at))
		v.packages[at] = pkg
	}
	for at, pkg := range v.packages {
		if pkg.Link {
			target, err := v.path(pkg.Folder)
			if err != nil {
				return nil, err
			}
			if info, err := os.Stat(filepath.Join(p.root, filepath.FromSlash(target))); err != nil || !info.IsDir() {
				return nil, fmt.Errorf("the package %s is the folder %q, which does not exist", pkg.Import, pkg.Folder)
			}
			v.keep(target)
		}
		if v.folders[at] && pkg.Link {
			return nil, fmt.Errorf("%s has packages in the link %q", npm.LockFile, at)
		}
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(v.folders)), maps.Keys(v.packages))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "." {
			v.children[path.Dir(name)] = append(v.children[path.Dir(name)], name)
		}
	}
	if err := v.fill(ctx, ".", p.root); err != nil {
		return nil, fmt.Errorf("laying out node_modules: %w", err)
	}
	return v, nil
}

func (v *view) path(location string) (string, error) {
	up, _ := filepath.Rel(v.root, v.lockDir) // Both are absolute.
	at := path.Join(filepath.ToSlash(up), location)
	if at == ".." || strings.HasPrefix(at, "../") {
		return "", fmt.Errorf("%s has the package %q, which is outside of the project %q", npm.LockFile, location, v.root)
	}
	return at, nil
}

// keep makes a path and its parents folders of the view.
func (v *view) keep(at string) {
	for ; !v.folders[at]; at = path.Dir(at) {
		v.folders[at] = true
	}
}

// fill creates the content of a folder of the view. from is the folder that it stands for,
// or "" if there is none.
func (v *view) fill(ctx context.Context, at, from string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var theirs []os.DirEntry
	if from != "" {
		var err error
		if theirs, err = os.ReadDir(from); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fsx.Cause(err)
		}
	}
	own := filepath.Join(v.at, filepath.FromSlash(at)) + string(filepath.Separator)
	inPackage := strings.Contains("/"+at+"/", "/node_modules/")
	for _, e := range theirs {
		name := path.Join(at, e.Name())
		if v.folders[name] || v.packages[name] != nil || e.Name() == "node_modules" && !inPackage {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), own+e.Name()); err != nil {
			return fsx.Cause(err)
		}
	}
	return v.fillOwn(ctx, at, from)
}

// fillOwn creates the packages and folders in a folder of the view.
func (v *view) fillOwn(ctx context.Context, at, from string) error {
	for _, name := range v.children[at] {
		own, pkg := filepath.Join(v.at, filepath.FromSlash(name)), v.packages[name]
		var err error
		switch {
		case v.folders[name]:
			if err = os.Mkdir(own, 0o700); err == nil {
				err = v.fill(ctx, name, v.below(name, pkg, from))
			}
		case pkg.Link:
			var target string
			if target, err = v.path(pkg.Folder); err == nil {
				err = os.Symlink(filepath.Join(v.at, filepath.FromSlash(target)), own)
			}
		default:
			err = os.Symlink(v.unpacked[pkg.At].Dir, own)
		}
		if err != nil {
			return fsx.Cause(err)
		}
	}
	return nil
}

// below returns the folder that a folder of the view stands for, or "". from is the folder
// that its parent stands for.
func (v *view) below(name string, pkg *npm.Package, from string) string {
	inPackage := strings.Contains("/"+path.Dir(name)+"/", "/node_modules/")
	switch {
	case pkg != nil:
		return v.unpacked[pkg.At].Dir
	case from == "", path.Base(name) == "node_modules" && !inPackage: // npm replaces the node_modules of the project
		return ""
	default:
		return filepath.Join(from, path.Base(name))
	}
}
