package golang

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// program is the path of the compiled program in the image, without a leading slash.
const program = "function"

// Language describes Go.
func Language() language.Language {
	return language.Language{
		Name:   "go",
		Marks:  "go.mod",
		Detect: detect,
		Build:  Build,
		Watch:  watch,
	}
}

func detect(dir string) (bool, error) { return language.Has(dir, "go.mod") }

func watch(dir string) ([]string, error) { return []string{dir}, nil }

// Build compiles a Go main package for each platform, concurrently, and adds the program to
// a base image as /function. The program is the entry point, listens on port 9443 and does
// not run as root. Without base images, the result depends only on the source, the Go
// toolchain, the flags and opts.Created.
func Build(ctx context.Context, src language.Source, opts runtimeimage.Options) (*language.Result, error) {
	c := &compiler{src, opts}
	images, err := runtimeimage.FromLayers(ctx, runtimeimage.Layered{Base: src.Base, Platforms: src.Platforms, Layers: c.layers}, opts)
	if err != nil {
		return nil, err
	}
	return &language.Result{Images: images}, nil
}

// A compiler compiles a Source for each platform.
type compiler struct {
	language.Source
	opts runtimeimage.Options
}

func (c *compiler) layers(ctx context.Context, t runtimeimage.Target) ([]runtimeimage.Layer, runtimeimage.Config, error) {
	p, out := t.Platform, filepath.Join(t.TempDir, program)
	c.opts.Progress.Step("compiling " + c.Dir + " for " + p.String())
	err := gobuild.Build(ctx, gobuild.Options{
		Dir: c.Dir, GOOS: p.OS, GOARCH: p.Architecture, Variant: p.Variant, Output: out,
		LDFlags: c.LDFlags, Flags: c.GoFlags, Env: c.opts.Env,
	})
	if err != nil {
		return nil, runtimeimage.Config{}, err
	}
	layer := runtimeimage.Layer{Key: out, Write: func(w io.Writer) error { return errors.Join(writeProgram(w, out), os.Remove(out)) }}
	return []runtimeimage.Layer{layer}, runtimeimage.Config{Entrypoint: []string{"/" + program}, Labels: c.Labels}, nil
}

func writeProgram(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	tw := tar.NewWriter(w)
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: program, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	if _, err := io.Copy(tw, f); err != nil {
		return err
	}
	return tw.Close()
}
