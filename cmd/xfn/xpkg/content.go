package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

// contentFlags say what a package file holds besides the package and its runtime.
type contentFlags struct {
	OciAnnotation  []string `short:"a" sep:"none" placeholder:"KEY=VALUE" help:"Annotate each image and the index, over what crossplane.yaml says of itself. Repeatable, or with commas between. Write a comma before what looks like another KEY= as \\,."`
	ExtensionsRoot string   `placeholder:"DIR" help:"Directory whose folders become layers of their name, such as icons, readme and release-notes."`
}

// build returns what the flags give to the build.
func (f *contentFlags) build(ctx context.Context) (opts xpkg.BuildOptions, err error) {
	if opts.Annotations, err = parseAnnotations(f.OciAnnotation); err != nil {
		return opts, err
	}
	if f.ExtensionsRoot != "" {
		opts.Extensions, err = xpkg.ReadExtensions(ctx, f.ExtensionsRoot)
	}
	return opts, err
}

// nextAnnotation is a comma that begins another annotation: a key and "=" follow.
// Other commas are part of a value, as those in a sentence.
var nextAnnotation = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^,[A-Za-z0-9][A-Za-z0-9._/-]*=`) })

// parseAnnotations reads annotations as flags give them: one, or a list with
// commas between, which the incumbent takes as well. Later ones win.
func parseAnnotations(flags []string) (map[string]string, error) {
	all := map[string]string{}
	for _, flag := range flags {
		for _, a := range splitAnnotations(flag) {
			key, value, ok := strings.Cut(a, "=")
			err := errors.New("expected KEY=VALUE")
			if ok && strings.TrimSpace(key) != "" {
				all[key] = value
				continue
			}
			if ok {
				err = errors.New("the key is empty")
			}
			return nil, &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("reading --oci-annotation %q: %w", a, err), "use org.opencontainers.image.source=https://example.org, say")}
		}
	}
	return all, nil
}

func splitAnnotations(flag string) []string {
	var all []string
	var last strings.Builder
	for i := 0; i < len(flag); i++ {
		switch {
		case strings.HasPrefix(flag[i:], `\,`):
			i++
		case nextAnnotation().MatchString(flag[i:]):
			all = append(all, last.String())
			last.Reset()
			continue
		}
		last.WriteByte(flag[i])
	}
	return append(all, last.String())
}

// targets returns the files to write, with their names.
func (c *BuildCmd) targets(pkg *xpkg.Package, artifact xpkg.Artifact) ([]xpkg.Target, error) {
	path := func(a xpkg.Artifact) (string, error) {
		if c.PackageFile != "" {
			return c.PackageFile, nil
		}
		name, err := xpkg.DefaultFileName(pkg, a)
		return filepath.Join(c.PackageRoot, name), err
	}
	if c.Split {
		return xpkg.Split(artifact, path)
	}
	file, err := path(artifact)
	return []xpkg.Target{{Path: file, Artifact: artifact}}, err
}

// checkTarget refuses to write over a file that the package is made of.
func (c *BuildCmd) checkTarget() error {
	target, err := filepath.EvalSymlinks(c.PackageFile)
	if ext := filepath.Ext(target); err != nil || c.Split || ext != ".yaml" && ext != ".yml" {
		return nil
	}
	if contains(cmp.Or(c.PackageRoot, "."), target) || contains(cmp.Or(c.ExamplesRoot, "examples"), target) {
		return &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("writing package %q: it is a file that the package is made of", c.PackageFile), "name another file with --package-file")}
	}
	return nil
}

// contains reports whether a file that is there lies in dir, or is dir. No links
// are in its path.
func contains(dir, file string) bool {
	dir, dirErr := filepath.EvalSymlinks(dir)
	absDir, absErr := filepath.Abs(dir)
	abs, err := filepath.Abs(file)
	if errors.Join(dirErr, absErr, err) != nil {
		return false
	}
	rel, err := filepath.Rel(absDir, abs)
	return err == nil && filepath.IsLocal(rel)
}

// write writes the files, and prints them.
func (c *BuildCmd) write(ctx context.Context, term *terminal.Terminal, runtimes *runtimeimage.Images, targets []xpkg.Target) error {
	var err error
	if c.Split {
		err = xpkg.WriteFiles(ctx, targets, progress.Func(term.Progress).Plain())
	} else {
		err = runtimes.WriteFile(ctx, targets[0].Path, targets[0].Artifact, term.Progress)
	}
	for _, t := range targets {
		if err == nil {
			err = printBuilt(term, t.Path, t.Artifact)
		}
	}
	return err
}
