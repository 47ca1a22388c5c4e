package runtimeimage

import (
	"archive/tar"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// ProgramPath is the path of a static program in a runtime image.
const ProgramPath = "/function"

// ProgramLayer returns a layer with a program file. The headers are those of directories and, last, of
// the file, whose size need not be set.
func ProgramLayer(ctx context.Context, file string, headers ...*tar.Header) Layer {
	return Layer{Key: file, Write: func(w io.Writer) error {
		tw, last := newTarWriter(ctx, w), len(headers)-1
		for _, h := range headers[:last] {
			tw.add(h.Name, h, nil)
		}
		tw.add(headers[last].Name, headers[last], func() (io.ReadCloser, error) { return os.Open(file) })
		return tw.close()
	}}
}

// A Program is an executable file for one platform.
type Program struct {
	Platform v1.Platform
	File     string
	// Path is the absolute path in the image. Empty means ProgramPath.
	Path string
}

func (p Program) path() string { return cmp.Or(p.Path, ProgramPath) }

// FromPrograms adds a program to the base image of each platform. base may be nil: FromLayers
// describes the minimal image and the ownership. The program is the entry point of config, listens
// on port 9443 unless NoPort is set, and does not run as root. A program that is not an ELF
// executable for its platform is an error. Without a base, a program with a dynamic loader is an
// error, too, because the minimal image has no loader.
func FromPrograms(ctx context.Context, base *Images, programs []Program, config Config, opts Options) (*Images, error) {
	of := map[string]Program{}
	var platforms []v1.Platform
	for _, p := range programs {
		if err := p.check(base == nil); err != nil {
			return nil, errors.Join(fmt.Errorf("reading program %q: %w", p.File, err), base.Close())
		}
		platforms, of[p.Platform.String()] = append(platforms, p.Platform), p
	}
	return FromLayers(ctx, Layered{Base: base, Platforms: platforms, Layers: func(ctx context.Context, t Target) ([]Layer, Config, error) {
		p := of[t.Platform.String()]
		config := config
		config.Entrypoint = []string{p.path()}
		return []Layer{ProgramLayer(ctx, p.File, header(p.path()[1:], 0o755, 0))}, config, nil
	}}, opts)
}

func (p Program) check(static bool) error {
	f, err := os.Open(p.File)
	if err != nil {
		return hint.Wrap(fsx.Cause(err), cmp.Or(manifest.Similar(afero.NewOsFs(), p.File), "compile the program first"))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return hint.Wrap(errors.Join(err, errors.New("expected a file")), "name the file of a program for "+p.Platform.String())
	}
	isDynamic := func() bool {
		e, err := elf.NewFile(f)
		return err == nil && slices.ContainsFunc(e.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	}
	switch arch := processor(f); {
	case arch == "":
		return hint.Wrap(fmt.Errorf("expected an ELF executable for %s", p.Platform), "compile the function to a static program for Linux")
	case arch != p.Platform.Architecture && arch != older[p.Platform.Architecture]:
		return hint.Wrap(fmt.Errorf("the program is for linux/%s, not for %s", arch, p.Platform), hint.Hint("compile it for "+p.Platform.String()))
	case static && isDynamic():
		return hint.Wrap(errors.New("it needs a dynamic loader, which the minimal base image does not have"), "link it statically, as Go does with CGO_ENABLED=0; or use a base image that has the loader")
	}
	return nil
}
