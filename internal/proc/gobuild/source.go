package gobuild

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// Limits of the files that sourceDigest reads. For more files, calling the go command is faster
// than computing the digest.
const (
	maxSourceFiles = 5000
	maxSourceBytes = 64 << 20
)

// errUnknown means that only the go command can find out what it would read.
var errUnknown = errors.New("the source is not known")

// sourceDigest returns a digest of everything that decides what go build writes: the go command,
// its environment, target and flags, and the files of the module and of the folders that replace
// other modules. go.sum fixes the downloaded modules. The digest does not include the names of
// the folders, because the flags keep them out of the program. sourceDigest returns "" if
// something else may decide, such as a workspace, a file that a flag names, or another program
// in place of go.
func sourceDigest(opts Options, goCmd string) string {
	d := digester{hash: sha256.New()}
	fmt.Fprintf(d.hash, "target %q\n", slices.Concat([]string{opts.GOOS, opts.GOARCH, opts.Variant, opts.LDFlags}, flagsFor(opts.Env), opts.Flags))
	if err := errors.Join(d.addCommand(goCmd), d.addEnvironment(opts), d.addModules(opts.Dir)); err != nil {
		return ""
	}
	return hex.EncodeToString(d.hash.Sum(nil))
}

type digester struct {
	hash  hash.Hash
	files int
	bytes int64
}

// addCommand adds the version of the go command, by its size and modification time. A script
// or a link to another program may choose one for each call.
func (d *digester) addCommand(goCmd string) error {
	path, err := filepath.EvalSymlinks(goCmd)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	start := make([]byte, 2)
	if _, err := io.ReadFull(f, start); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil || strings.TrimSuffix(filepath.Base(path), ".exe") != "go" || string(start) == "#!" {
		return cmp.Or(err, errUnknown)
	}
	fmt.Fprintf(d.hash, "go %q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	return d.addSettings(filepath.Join(filepath.Dir(filepath.Dir(path)), "go.env"))
}

// irrelevant are variables of the go command that do not change what it writes.
var irrelevant = map[string]bool{"GOGC": true, "GOMEMLIMIT": true, "GOMAXPROCS": true, "GOTRACEBACK": true}

// addEnvironment adds the variables that decide what the go command writes, and its file of
// settings.
func (d *digester) addEnvironment(opts Options) error {
	env, used := map[string]string{}, []string{}
	for _, kv := range opts.Env {
		key, value, _ := strings.Cut(kv, "=")
		key = proc.FoldKey(key)
		if overridden[key] || irrelevant[key] {
			continue
		}
		if strings.HasPrefix(key, "GO") || strings.HasPrefix(key, "CGO_") || key == "PATH" {
			env[key] = value
			used = append(used, kv)
		}
	}
	slices.Sort(used)
	fmt.Fprintf(d.hash, "env %q\n", used)
	if !arePlain(strings.Fields(env["GOFLAGS"])) || !arePlain(opts.Flags) || slices.ContainsFunc(opts.Flags, dependsOnDir) || env["GO111MODULE"] == "off" {
		return errUnknown
	}
	if work := env["GOWORK"]; work != "off" && (work != "" || fsx.FindUp(opts.Dir, "go.work") != "") {
		return errUnknown
	}
	settings := env["GOENV"]
	if user, err := os.UserConfigDir(); err == nil && settings == "" {
		settings = filepath.Join(user, "go", "env")
	}
	return d.addSettings(settings)
}

// addSettings adds a file that `go env -w` writes, which may be missing.
func (d *digester) addSettings(path string) error {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if flags, ok := strings.CutPrefix(line, "GOFLAGS="); ok && !arePlain(strings.Fields(flags)) {
			return errUnknown
		}
	}
	fmt.Fprintf(d.hash, "settings %q\n", data)
	return nil
}

// plainFlags are the flags of go build whose meaning is in their text: they name no file
// and force no build.
var plainFlags = map[string]bool{"-mod": true, "-tags": true, "-trimpath": true, "-buildvcs": true, "-ldflags": true, "-v": true, "-p": true}

func arePlain(flags []string) bool {
	return !slices.ContainsFunc(flags, func(flag string) bool { return flag != withoutDebug && !plainFlags[flagName(flag)] })
}

// dependsOnDir reports whether a flag adds to the program where the source is: its path or its
// version control. Build overrides these flags in GOFLAGS.
func dependsOnDir(flag string) bool {
	return slices.Contains([]string{"-trimpath", "-buildvcs"}, flagName(flag))
}

func flagName(flag string) string {
	name, _, _ := strings.Cut(flag, "=")
	return strings.Replace(name, "--", "-", 1)
}

// addModules adds the files of the main module of dir, and the files of folders that
// replace other modules.
func (d *digester) addModules(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	path := fsx.FindUp(abs, "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	mod, err := modfile.Parse(path, data, nil)
	if err != nil {
		return err
	}
	root := filepath.Dir(path)
	pkg, err := filepath.Rel(root, abs)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.hash, "package %q\n", pkg)
	roots := []string{root}
	for _, r := range mod.Replace {
		switch {
		case r.New.Version != "":
		case filepath.IsAbs(r.New.Path):
			roots = append(roots, r.New.Path)
		default:
			roots = append(roots, filepath.Join(root, r.New.Path))
		}
	}
	for _, root := range roots {
		fmt.Fprintln(d.hash, "module") // go.mod says which
		if err := d.addModule(root); err != nil {
			return err
		}
	}
	return nil
}

// addModule adds the files of a module. Files that the go command does not compile, such as a
// package that is built in the folder, can be part of a program only if the module embeds
// files. The go command follows links to files, and to folders that are imported.
func (d *digester) addModule(root string) error {
	embeds, others := false, []string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return filepath.SkipDir
		case e.IsDir(), e.Name() == ".git": // It is a file in a worktree.
			return nil
		case e.Type().IsRegular() && !isCompiled(path):
			others = append(others, path)
			return nil
		}
		data, err := d.addFile(root, path)
		embeds = embeds || bytes.Contains(data, []byte("//go:embed"))
		return err
	})
	if err != nil || !embeds {
		return err
	}
	for _, path := range others {
		if fsx.IsTemporary(filepath.Base(path)) {
			continue
		}
		if _, err := d.addFile(root, path); err != nil {
			return err
		}
	}
	return nil
}

// compiled are the extensions of files that the go command compiles, links, or refuses to.
var compiled = []string{".go", ".s", ".sx", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".for", ".f90", ".swig", ".swigcxx", ".syso", ".pgo"}

// isCompiled reports whether the go command may read a file that is not embedded.
func isCompiled(path string) bool {
	return slices.Contains([]string{"go.mod", "go.sum", "modules.txt"}, filepath.Base(path)) ||
		slices.Contains(compiled, strings.ToLower(filepath.Ext(path)))
}

// addFile adds the name and the content of a file of a module, and returns the content.
func (d *digester) addFile(root, path string) ([]byte, error) {
	name, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errUnknown)
	}
	d.files++
	d.bytes += info.Size()
	if d.files > maxSourceFiles || d.bytes > maxSourceBytes {
		return nil, errUnknown
	}
	data, err := os.ReadFile(path)
	fmt.Fprintf(d.hash, "file %q %d\n%s", name, len(data), data)
	return data, err
}
