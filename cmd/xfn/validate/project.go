package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
)

const usage = "the usage is xfn validate [<schemas> [<resources>]] [flags]; separate several paths by commas, as in a.yaml,b.yaml"

// missing returns the hint for paths without the other argument. It reads neither standard input nor pipes.
func missing(ctx context.Context, files manifest.Reader, given string) string {
	found := definitionsIn(ctx, files, split(given))
	next := fmt.Sprintf("name the schemas before the resources, as in xfn validate definition.yaml %s; ", hint.Word(given))
	if len(found) > 0 {
		resources := "xr.yaml"
		if defines(found, kindsIn(ctx, files, split(given))) {
			resources = given // It has resources, too.
		}
		next = fmt.Sprintf("%s has schemas; name the resources after it, as in xfn validate %s %s; ", given, hint.Word(given), hint.Word(resources))
	}
	return next + usage
}

// paths returns the arguments. Without arguments, it uses the project in the working
// directory: schemas are the paths of its APIs and dependencies, and resources the paths
// of its examples. It sets up o to read them.
func (c *Cmd) paths(ctx context.Context, term *terminal.Terminal, o *inspect.CRDOptions) (schemas, resources []string, err error) {
	switch {
	case c.Extensions != "" && c.Resources != "":
		schemas = split(c.Extensions)
		return append(schemas, inputFolders(o.Files.FS, schemas)...), split(c.Resources), nil
	case c.Extensions != "" || c.Resources != "":
		return nil, nil, &terminal.UsageError{Err: hint.Wrap(errors.New("expected both schemas and resources"), missing(ctx, o.Files, cmp.Or(c.Extensions, c.Resources)))}
	}
	p, err := flags.FindProject(ctx, term)
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, nil, &terminal.UsageError{Err: hint.Wrap(errors.New("expected schemas and resources, or a project in the working directory"), usage)}
	}
	if schemas, err = p.Existing(p.Paths.APIs); err != nil {
		return nil, nil, err
	}
	if resources, err = p.Existing(p.Paths.Examples); err != nil {
		return nil, nil, err
	}
	o.Rewrite = p.Rewritten
	more, err := flags.FunctionFolders(p, o)
	if err != nil {
		return nil, nil, err
	}
	schemas = append(schemas, more...)
	images := image.Options{Remote: o.Remote, Progress: o.Progress, Offline: o.Offline || o.Follow == inspect.FollowNone}
	return append(schemas, p.Path), resources, c.UseDependencies(ctx, p, &o.Files, images, o.Lock)
}

// inputFolders returns the folders with the CRDs of the inputs of functions, such as package/input, in
// the repositories that have one of paths in a folder such as example.
func inputFolders(fsys afero.Fs, paths []string) (folders []string) {
	for _, path := range paths {
		dir := filepath.Clean(path)
		if isDir, _ := afero.IsDir(fsys, path); !isDir {
			dir = filepath.Dir(dir)
		}
		beside, _ := afero.ReadDir(fsys, filepath.Join(dir, ".."))
		for _, e := range beside {
			input := filepath.Join(dir, "..", e.Name(), "input")
			exists, _ := afero.Exists(fsys, input)
			if !exists || !strings.HasPrefix(e.Name(), "package") {
				continue
			}
			isGiven := slices.ContainsFunc(paths, func(given string) bool {
				rel, err := filepath.Rel(given, input)
				return err == nil && filepath.IsLocal(rel)
			})
			isPackage, _ := afero.Exists(fsys, filepath.Join(filepath.Dir(input), "crossplane.yaml"))
			if isPackage && !isGiven && !slices.Contains(folders, input) {
				folders = append(folders, input)
			}
		}
	}
	return folders
}
