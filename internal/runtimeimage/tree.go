package runtimeimage

import (
	"archive/tar"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

// The limits of the files that become a layer. rootfs.Limits has the same limits for unpacking
// an image.
const (
	MaxFiles = 1 << 18
	MaxBytes = 8 << 30
)

// A tree is a Dir with the list of its files.
type tree struct {
	Dir
	root  *os.Root
	at    string // the path of the directory in the image, without a leading slash
	nodes []node // in the order of the layer: a directory comes before its content
	// programs maps a processor to the path of the first program or library for it in the
	// tree. write fills programs.
	programs map[string]string
}

// A node is a file, directory or symbolic link in a tree.
type node struct {
	// name is the path in the image, relative to the tree. file is the path in tree.root.
	name, file string
	kind       fs.FileMode
	link       string
	// executable is true for a file that its owner may execute.
	executable bool
}

// mode returns the mode of a file: readable by all, and executable by all if its owner may execute it.
func (n node) mode() int64 {
	if n.executable {
		return 0o755
	}
	return 0o644
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
	for _, n := range t.nodes {
		switch name := path.Join(t.at, n.name); n.kind {
		case fs.ModeDir:
			tw.add(n.name, have.header(name), nil)
		case fs.ModeSymlink:
			tw.add(n.name, &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: n.link, Mode: 0o777}, nil)
		default:
			tw.add(n.name, header(name, n.mode(), 0), func() (io.ReadCloser, error) { return t.open(n.file) })
		}
	}
	return tw.close()
}

// open opens a file, and records the processor of a program or library.
func (t *tree) open(file string) (*os.File, error) {
	f, err := t.root.Open(filepath.FromSlash(file))
	if err == nil {
		if arch := processor(f); arch != "" && t.programs[arch] == "" {
			t.programs[arch] = file
		}
	}
	return f, err
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
