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

// ProgramLayer returns a layer with the program file at ProgramPath.
func ProgramLayer(file string) Layer { return Program{File: file}.layer() }

// layer returns a layer with the program, executable by all, and its directories.
func (p Program) layer() Layer {
	return Layer{Key: p.File, Write: func(w io.Writer) error {
		return WriteProgram(w, p.File, &tar.Header{Typeflag: tar.TypeReg, Name: p.path()[1:], Mode: 0o755})
	}}
}

// WriteProgram writes a tar that has directories and, as the last header says, a file. It
// sets the size of the file.
func WriteProgram(w io.Writer, file string, headers ...*tar.Header) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	tw := tar.NewWriter(w)
	headers[len(headers)-1].Size = info.Size()
	for _, h := range headers {
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
	}
	if _, err := io.Copy(tw, f); err != nil {
		return err
	}
	return tw.Close()
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
	return FromLayers(ctx, Layered{Base: base, Platforms: platforms, Layers: func(_ context.Context, t Target) ([]Layer, Config, error) {
		p := of[t.Platform.String()]
		config := config
		config.Entrypoint = []string{p.path()}
		return []Layer{p.layer()}, config, nil
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
	switch arch := processor(f); {
	case arch == "":
		return hint.Wrap(fmt.Errorf("expected an ELF executable for %s", p.Platform), "compile the function to a static program for Linux")
	case arch != p.Platform.Architecture && arch != older[p.Platform.Architecture]:
		return hint.Wrap(fmt.Errorf("the program is for linux/%s, not for %s", arch, p.Platform), hint.Hint("compile it for "+p.Platform.String()))
	case static && isDynamic(f):
		return hint.Wrap(errors.New("it needs a dynamic loader, which the minimal base image does not have"), "link it statically, as Go does with CGO_ENABLED=0; or use a base image that has the loader")
	}
	return nil
}

// isDynamic reports whether an ELF executable has a dynamic loader.
func isDynamic(r io.ReaderAt) bool {
	f, err := elf.NewFile(r)
	return err == nil && slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}
