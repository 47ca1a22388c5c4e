package golang

import (
	"archive/tar"
	"context"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// projectBase is the base image of the crossplane CLI v2.5.
const projectBase = "gcr.io/distroless/static-debian12@sha256:a9329520abc449e3b14d5bc3a6ffae065bdde0f02667fa10880c49b35c109fd1"

// Language describes Go.
func Language() language.Language {
	return language.Language{
		Name:        "go",
		Marks:       "go.mod, go.work or .go files",
		ProjectBase: projectBase,
		Detect:      detect,
		Build:       Build,
		Watch:       func(dir string) ([]string, error) { return []string{dir}, nil },
	}
}

// programs is the folder of programs in the cache of Go.
const programs = "programs"

// Cache has the programs that Build compiled.
func Cache() language.Cache {
	return language.Cache{Name: "go", Folders: []string{programs}, Lock: gobuild.LockFile, Noun: "program"}
}

// Programs returns the folder of programs for gobuild.Options.Kept, in the folder dir of all
// caches. Without a cache, dir and the result are empty.
func Programs(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, Cache().Name, programs)
}

func detect(dir string) (bool, error) {
	for _, name := range []string{"go.mod", "go.work"} {
		if found, err := language.Has(dir, name); found || err != nil {
			return found, err
		}
	}
	entries, err := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) == ".go" }), fsx.Cause(err)
}

// Build compiles a Go main package for each platform, concurrently. The program is the entry
// point. The result depends only on the base images, the source, the Go toolchain, the flags
// and opts.Created.
//
// The program is /function, listens on port 9443 and does not run as root, unless
// src.Project is true: then the image has the layout that ko makes for the crossplane CLI.
func Build(ctx context.Context, src language.Source, opts runtimeimage.Options) (*language.Result, error) {
	c := &compiler{Source: src, opts: opts, materials: map[string]language.Material{}}
	images, err := runtimeimage.FromLayers(ctx, runtimeimage.Layered{Base: src.Base, Platforms: src.Platforms, Layers: c.layers}, opts)
	if err != nil {
		return nil, err
	}
	return language.NewResult(src, images, slices.Collect(maps.Values(c.materials)))
}

// A compiler compiles a Source for each platform.
type compiler struct {
	language.Source
	opts runtimeimage.Options

	mu        sync.Mutex
	materials map[string]language.Material // by package URL
}

func (c *compiler) layers(ctx context.Context, t runtimeimage.Target) ([]runtimeimage.Layer, runtimeimage.Config, error) {
	p, program := t.Platform, filepath.Join(t.TempDir, "function")
	c.opts.Progress.Step("compiling " + c.Dir + " for " + p.String())
	err := gobuild.Build(ctx, gobuild.Options{
		Dir: c.Dir, GOOS: p.OS, GOARCH: p.Architecture, Variant: p.Variant, Output: program,
		LDFlags: c.LDFlags, Flags: c.GoFlags, Env: c.opts.Env, Kept: Programs(c.Artifacts.Dir),
	})
	if err == nil {
		err = c.record(program)
	}
	if err != nil {
		return nil, runtimeimage.Config{}, err
	}
	if c.Project {
		return c.koLayers(ctx, t, program)
	}
	layer := runtimeimage.ProgramLayer(ctx, program, &tar.Header{Typeflag: tar.TypeReg, Name: runtimeimage.ProgramPath[1:], Mode: 0o755})
	return []runtimeimage.Layer{layer}, runtimeimage.Config{Entrypoint: []string{runtimeimage.ProgramPath}, Labels: c.Labels}, nil
}

// record adds the modules of a program and the Go standard library to the materials.
func (c *compiler) record(program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading the modules of the program: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" && m.Version != "(devel)" { // else a folder replaces the module
			c.add(m.Path, m.Version, m.Sum)
		}
	}
	return nil
}

func (c *compiler) add(name, version, sum string) {
	version, _, _ = strings.Cut(version, " ") // "1.26.0 X:experiment"
	purl := "pkg:golang/" + name + "@" + version
	c.materials[purl] = language.Material{Name: name, Version: version, PURL: purl, Digest: sum}
}
