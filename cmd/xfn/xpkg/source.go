package xpkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/xpkg"
)

// A source is a package or a plain image in a file or a registry.
type source struct {
	fsx.Closers
	name     string
	artifact xpkg.Artifact
	local    bool

	client *remote.Client
	ref    name.Reference
}

func (s *source) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	if s.ref != nil {
		err = s.client.Explain(s.ref, err)
	}
	return fmt.Errorf("%s %q: %w", doing, s.name, err)
}

func (f registryFlags) open(ctx context.Context, p terminal.Program, from string) (*source, error) {
	if isFile(from) {
		return openFile(ctx, from)
	}
	ref, err := f.reference(from)
	if err != nil {
		return nil, err
	}
	return f.fetch(ctx, p, from, ref)
}

// openFile opens the file of a package. Close closes the others after the file.
func openFile(ctx context.Context, path string, others ...io.Closer) (*source, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	file, err := xpkg.OpenImage(ctx, path)
	if err != nil {
		return nil, explainYAML(path, err)
	}
	s := &source{name: path, artifact: file.Artifact, local: true}
	for _, c := range append(others, file) { // Closers are closed in reverse order.
		s.Add(c)
	}
	return s, nil
}

// checkFile returns an error for a directory, because a package is a file.
func checkFile(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return hint.Wrap(fmt.Errorf("opening %q: %w", path, fsx.Cause(err)), missingFile(path))
	}
	if err != nil || !info.IsDir() {
		return nil
	}
	return hint.Wrap(fmt.Errorf("opening package %q: expected a file, got a directory", path),
		fmt.Sprintf("check a package root with xfn xpkg lint %s, or build it with xfn xpkg build -f %[1]s", hint.Word(path)))
}

// missingFile returns the hint for a path of a package that does not exist.
func missingFile(path string) hint.Hint {
	near := manifest.Similar(afero.NewOsFs(), path)
	switch build := hint.Hint("build the package first, as in xfn xpkg build -o " + hint.Word(path)); {
	case filepath.Ext(path) != ".xpkg":
		return cmp.Or(near, useExisting)
	case near != "":
		return near + " Otherwise " + build
	default:
		return build
	}
}

const useExisting hint.Hint = "use an existing file, or REGISTRY/REPOSITORY:TAG"

// explainYAML adds a hint to err if path is the file of objects or of a project, and not of a package.
func explainYAML(path string, err error) error {
	if errors.Is(err, archive.ErrSeveral) {
		return hint.Wrap(err, fmt.Sprintf("name the file of one package; the file of a project is pushed with xfn project push --package-file %s", hint.Word(path)))
	}
	if !manifest.IsYAML(path) {
		return err
	}
	return hint.Wrap(err, fmt.Sprintf("build the package of this file first, with xfn xpkg build -f %s", hint.Word(filepath.Dir(path))))
}

// isFile reports whether from is an existing file, or cannot be a reference.
func isFile(from string) bool {
	_, err := os.Stat(from)
	return err == nil || remote.IsPath(from) || strings.HasSuffix(from, ".xpkg")
}

// reference parses the reference of a package or image that is not a file.
func (f registryFlags) reference(from string) (name.Reference, error) {
	ref, err := f.Reference(from)
	if err == nil {
		return ref, nil
	}
	if !strings.ContainsAny(from, "/:@") {
		err = hint.Wrap(fmt.Errorf("there is no file or directory %q", from), "name an existing path, or an image or package in full: REGISTRY/REPOSITORY:TAG")
	} else {
		err = fmt.Errorf("there is no file %q: %w", from, err)
	}
	return nil, hint.Wrap(err, cmp.Or(manifest.Similar(afero.NewOsFs(), from), hint.Of(err), useExisting))
}

// fetch reads the manifests of a package from its registry, without its layers.
func (f registryFlags) fetch(ctx context.Context, p terminal.Program, from string, ref name.Reference) (*source, error) {
	client := f.Client(p)
	a, err := image.Artifact(ctx, ref, image.Options{Remote: client})
	if err != nil {
		return nil, err
	}
	return &source{name: from, artifact: a, client: client, ref: ref}, nil
}

// CheckOutput returns an error if no package can be written to a file: it is a directory, or "-",
// because packages are not written to standard output, or a file that is not a package by its name
// and content, such as an input of the package, or in a directory in which no file can be created.
func CheckOutput(file string) error {
	info, err := os.Stat(file)
	target, _ := filepath.EvalSymlinks(file)
	_, replaced := fsx.TemporaryDir(file)
	switch {
	case err == nil && info.IsDir():
		err := fmt.Errorf("writing package %q: it is a directory", file)
		return &terminal.UsageError{Err: hint.Wrap(err, "name a file in it, such as "+filepath.Join(file, "package.xpkg"))}
	case err == nil && replaced && info.Size() > 0 && !slices.Contains([]string{".xpkg", ".tar"}, filepath.Ext(target)) && !isTar(file):
		err := fmt.Errorf("writing package %q: the file exists and is not a package", file)
		return &terminal.UsageError{Err: hint.Wrap(err, "name a file that ends in .xpkg, or remove this file first")}
	case file != stdout:
		return checkDir(file)
	}
	err = fmt.Errorf("writing package %q: expected the name of a file", file)
	return &terminal.UsageError{Err: hint.Wrap(err, "use /dev/stdout to write the package to a pipe")}
}

// checkDir returns an error if no file can be created in the directory of a package file, which may be
// a device or "".
func checkDir(file string) error {
	dir, atomic := fsx.TemporaryDir(file)
	if file == "" || !atomic {
		return nil
	}
	f, err := fsx.Create(dir)
	if err == nil {
		return f.Close()
	}
	next := "name a file in another directory"
	if errors.Is(err, fs.ErrNotExist) {
		next = "make the directory first, or " + next
	}
	return hint.Wrap(fmt.Errorf("writing package %q: %w", file, err), next)
}

// isTar reports whether a file begins with the header of a tar file.
func isTar(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // An error of closing a file that was only read does not matter.
	const magic, at = "ustar", 257
	header := make([]byte, at+len(magic))
	_, err = io.ReadFull(f, header)
	return err == nil && string(header[at:]) == magic
}

// printBuilt prints the name and digest of a package file. If the file itself
// was written to standard output, it prints them as a note.
func printBuilt(term *terminal.Terminal, file string, artifact xpkg.Artifact) error {
	digest, err := artifact.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest of %q: %w", file, err)
	}
	line := fmt.Sprintf("%s %s", file, digest)
	if term.IsStdout(file) {
		term.Note(line)
		return nil
	}
	return term.Printf("%s\n", line)
}

// mostProblems limits the problems of a package that are printed.
const mostProblems = 50

// faults prints the problems if err contains several, and returns an error with their
// number. It returns any other err unchanged.
func faults(term *terminal.Terminal, root string, err error) error {
	if !errors.As(err, new(xpkg.Problems)) {
		return err
	}
	if err := checkRoot(root, "build it with xfn project build", "name this directory with -f"); err != nil {
		return err
	}
	return Faults(term, fmt.Sprintf("package root %q", cmp.Or(root, ".")), err)
}

// Faults prints the problems if err contains several, and returns an error with their
// number, which begins with what. It returns any other err unchanged.
func Faults(term *terminal.Terminal, what string, err error) error {
	all, ok := errors.AsType[xpkg.Problems](err)
	if !ok || len(all) == 1 {
		return err
	}
	for _, p := range worthPrinting(all) {
		term.Fault(p.Err())
	}
	err = fmt.Errorf("%s has %d problems", what, len(all))
	if len(all) > mostProblems {
		err = fmt.Errorf("%w; the first %d are above", err, mostProblems)
	}
	return err
}

// metaFile is the file that a package root has.
const metaFile = "crossplane.yaml"

func isRoot(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, metaFile))
	return err == nil
}

// checkRoot returns an error if root is not a package root, but the root of a project, or a directory
// that contains one package root. The hint is what to do with the project, or with the contained root.
func checkRoot(root, ofProject, contained string) error {
	if isRoot(root) {
		return nil
	}
	if _, _, err := project.Find(root); err == nil {
		return hint.Wrap(fmt.Errorf("%q is the root of a project, not of a package", cmp.Or(root, ".")), ofProject)
	}
	if found, err := fsx.Glob(root, "*/"+metaFile); err == nil && len(found) == 1 {
		next := fmt.Sprintf("%s has a %s: %s %[1]s", filepath.Dir(found[0]), metaFile, contained)
		return hint.Wrap(fmt.Errorf("package root %q has no %s", cmp.Or(root, "."), metaFile), next)
	}
	return nil
}

// Warn prints problems as warnings.
func Warn(term *terminal.Terminal, all xpkg.Problems) {
	for _, p := range worthPrinting(all) {
		text := p.Err().Error()
		if p.Hint != "" {
			text += "\nhint: " + hint.Hint(p.Hint).Spell(term.Spell)
		}
		term.Warn(text)
	}
	if n := len(all) - mostProblems; n > 0 {
		term.Warn(fmt.Sprintf("and %d more", n))
	}
}

// worthPrinting returns up to mostProblems problems, without repeated hints.
func worthPrinting(all xpkg.Problems) xpkg.Problems {
	hints := map[string]bool{}
	some := slices.Clone(all[:min(len(all), mostProblems)])
	for i, p := range some {
		if hints[p.Hint] {
			some[i].Hint = ""
		}
		hints[p.Hint] = true
	}
	return some
}
