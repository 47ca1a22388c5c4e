package runtimeimage

import (
	"archive/tar"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

// The limits of the files that become a layer. rootfs.Limits has the same limits for unpacking
// an image.
const (
	MaxFiles = 1 << 18
	MaxBytes = 8 << 30
)

// A tree is the content of a directory that becomes a layer of an image.
type tree struct {
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

// readTree lists the content of the directory dir, whose path in the image will be the
// value of at. It does not follow symbolic links, except if dir itself is one.
func readTree(ctx context.Context, dir, at string) (_ *tree, err error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, at: at, programs: map[string]string{}}
	if t.nodes, err = list(ctx, root, ".", nil); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return t, nil
}

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

func (t *tree) Close() error { return t.root.Close() }

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
	tw := tar.NewWriter(w)
	for _, dir := range parents(t.at) {
		if err := tw.WriteHeader(have.header(dir)); err != nil {
			return fmt.Errorf("adding %q: %w", dir, err)
		}
	}
	for _, n := range t.nodes {
		if err := t.add(ctx, tw, n, have); err != nil {
			return fmt.Errorf("adding %q: %w", n.name, fsx.Cause(err))
		}
	}
	return tw.Close()
}

func (t *tree) add(ctx context.Context, tw *tar.Writer, n node, have folders) error {
	name := path.Join(t.at, n.name)
	switch n.kind {
	case fs.ModeDir:
		return tw.WriteHeader(have.header(name))
	case fs.ModeSymlink:
		return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: n.link, Mode: 0o777})
	default:
		return t.addFile(ctx, tw, n.file, func(mode, size int64) *tar.Header { return header(name, mode, size) })
	}
}

// addFile adds a file to the tar. It reads only the size that the file had when it was
// opened, because another process may append to the file.
func (t *tree) addFile(ctx context.Context, tw *tar.Writer, file string, header func(mode, size int64) *tar.Header) (err error) {
	f, err := t.root.Open(filepath.FromSlash(file))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("the file was replaced while it was read")
	}
	mode := int64(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	if err := tw.WriteHeader(header(mode, info.Size())); err != nil {
		return err
	}
	if arch := processor(f); arch != "" && t.programs[arch] == "" {
		t.programs[arch] = file
	}
	_, err = io.CopyN(tw, oci.Reader(ctx, f), info.Size())
	if errors.Is(err, io.EOF) {
		return errors.New("the file became shorter while it was read")
	}
	return err
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
