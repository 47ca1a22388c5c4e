package runtimeimage

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

// The limits of the files that become a layer. rootfs.Limits has the same limits for unpacking
// an image.
const (
	MaxFiles = 1 << 18
	MaxBytes = 8 << 30
)

type tree struct {
	Dir
	at    string    // the path of the directory in the image, without a leading slash
	files []TarFile // in the order of the layer: a directory comes before its content
	// programs maps a processor to the path of the first program or library for it in the
	// tree. write fills programs.
	programs map[string]string
}

// openRoot opens a directory. It does not follow symbolic links, except if dir itself is one.
func openRoot(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	if !info.IsDir() {
		return nil, hint.Wrap(errors.New("expected a directory, got a file"), "give the directory of the function")
	}
	root, err := os.OpenRoot(dir)
	return root, fsx.Cause(err)
}

// leftOut reports whether no image needs a file: the data of git, Python's cache, which
// contains paths and times of this machine, temporary files of editors, and the list of
// files to leave out.
func leftOut(d fs.DirEntry) bool {
	return d.Name() == ".git" || d.Name() == "__pycache__" && d.IsDir() || d.Name() == fsx.IgnoreFile || fsx.IsEditorFile(d.Name())
}

func kindOf(kind fs.FileMode) string {
	switch {
	case kind&fs.ModeNamedPipe != 0:
		return "pipe"
	case kind&fs.ModeSocket != 0:
		return "socket"
	case kind&fs.ModeDevice != 0:
		return "device"
	default:
		return "special file"
	}
}

// parents returns the path of a directory in an image and the paths of its parent directories,
// the topmost first.
func parents(at string) []string {
	var all []string
	for dir := at; dir != "" && dir != "." && dir != "/"; dir = path.Dir(dir) {
		all = append(all, dir)
	}
	slices.Reverse(all)
	return all
}

// write writes the tree as the tar of a layer. have contains the directories that the
// base image already has.
func (t *tree) write(ctx context.Context, w io.Writer, have folders) error {
	tw := newTarWriter(ctx, w)
	for _, dir := range parents(t.at) {
		tw.add(dir, have.header(dir), nil)
	}
	for _, f := range t.files {
		name, open := f.Path, f.Open
		if f.Path = path.Join(t.at, name); open != nil {
			open = func() (io.ReadCloser, error) { return t.open(name, f) }
		}
		h := f.header()
		if strings.HasSuffix(name, "/") {
			h = have.header(f.Path)
		}
		tw.add(name, h, open)
	}
	return tw.close()
}

// open opens a file, and records the processor of a program or library.
func (t *tree) open(name string, f TarFile) (io.ReadCloser, error) {
	r, err := f.Open()
	if at, ok := r.(io.ReaderAt); ok && err == nil {
		if arch := processor(at); arch != "" && t.programs[arch] == "" {
			t.programs[arch] = name
		}
	}
	return r, err
}

// processors maps the machine types of ELF files to Go's names of processors (GOARCH).
var processors = map[elf.Machine]string{
	elf.EM_386: "386", elf.EM_X86_64: "amd64", elf.EM_ARM: "arm", elf.EM_AARCH64: "arm64",
	elf.EM_RISCV: "riscv64", elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
}

// processor returns the processor (GOARCH) of an ELF program or library, which it reads
// from the ELF header. It returns "" for any other file.
func processor(r io.ReaderAt) string {
	var head [20]byte
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:4]) != elf.ELFMAG {
		return ""
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	kind, machine := elf.Type(order.Uint16(head[16:])), elf.Machine(order.Uint16(head[18:]))
	if kind != elf.ET_EXEC && kind != elf.ET_DYN {
		return ""
	}
	if machine == elf.EM_PPC64 && order == binary.LittleEndian {
		return "ppc64le"
	}
	return processors[machine]
}
