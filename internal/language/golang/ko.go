package golang

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/mod/modfile"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// The layout of ko, which the crossplane CLI uses (ko's pkg/build/gobuild.go).
const (
	koAuthor = "github.com/ko-build/ko"
	koApps   = "/ko-app"
	koData   = "/var/run/ko"
	// koMode is the mode of all files.
	koMode = 0o555
)

// koLayers returns the layers of ko for a program: the files of the folder kodata, and the
// program.
func (c *compiler) koLayers(ctx context.Context, t runtimeimage.Target, program string) ([]runtimeimage.Layer, runtimeimage.Config, error) {
	importPath, err := importPath(c.Dir)
	if err != nil {
		return nil, runtimeimage.Config{}, err
	}
	env, err := koEnv(t.Base)
	if err != nil {
		return nil, runtimeimage.Config{}, err
	}
	data, err := c.koData(ctx)
	if err != nil {
		return nil, runtimeimage.Config{}, err
	}
	at := path.Join(koApps, path.Base(importPath))
	app := runtimeimage.ProgramLayer(ctx, program,
		&tar.Header{Typeflag: tar.TypeDir, Name: koApps[1:], Mode: koMode},
		&tar.Header{Typeflag: tar.TypeReg, Name: at, Mode: koMode})
	data.History, app.History = koHistory(importPath, "kodata contents, at $KO_DATA_PATH"), koHistory(importPath, "go build output, at "+at)
	return []runtimeimage.Layer{data, app}, runtimeimage.Config{
		Entrypoint: []string{at}, Env: env, Author: koAuthor, Labels: c.Labels, Verbatim: true,
	}, nil
}

func koHistory(importPath, comment string) v1.History {
	return v1.History{Author: "ko", CreatedBy: "ko build ko://" + importPath, Comment: comment}
}

// koData returns the layer with the files of the folder kodata, or only with the directory
// for them.
func (c *compiler) koData(ctx context.Context) (runtimeimage.Layer, error) {
	folder := runtimeimage.Folder{
		Dir: filepath.Join(c.Dir, "kodata"), Root: cmp.Or(c.Root, c.Dir), At: koData, FollowLinks: true, Parents: true,
		Mode: koMode, FileMode: koMode, FilesOnly: true,
	}
	switch entries, err := os.ReadDir(folder.Dir); {
	case err == nil && len(entries) == 0, errors.Is(err, fs.ErrNotExist):
		folder.Dir = ""
	case err != nil:
		return runtimeimage.Layer{}, fmt.Errorf("reading %q: %w", folder.Dir, fsx.Cause(err))
	}
	return folder.Layer(ctx, c.opts.Progress)
}

func koEnv(base v1.Image) ([]string, error) {
	config, err := base.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the base image: %w", err)
	}
	search := "PATH=" + koApps
	for _, v := range config.Config.Env {
		if strings.HasPrefix(v, "PATH=") {
			search = v + ":" + koApps
		}
	}
	return []string{search, "KO_DATA_PATH=" + koData}, nil
}

// importPath returns the import path of the package in dir, from the go.mod there or in a
// folder above.
func importPath(dir string) (string, error) {
	file := fsx.FindUp(dir, "go.mod")
	if file == "" {
		return "", fmt.Errorf("finding the Go module of %q: neither the folder nor one above it has a go.mod", dir)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading %q: %w", file, fsx.Cause(err))
	}
	module := modfile.ModulePath(data)
	if module == "" {
		return "", fmt.Errorf("reading %q: it has no module path", file)
	}
	below, err := fsx.Relative(filepath.Dir(file), dir)
	return path.Join(module, filepath.ToSlash(below)), err
}
