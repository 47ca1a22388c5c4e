package python

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// Limits of one wheel.
const (
	maxFiles    = 1 << 16
	maxBytes    = 4 << 30
	maxMetadata = 16 << 20
	maxScript   = 4 << 20
)

// A Layout says where an image has a Python environment.
type Layout struct {
	// Site is the path of the folder site-packages, without a leading slash.
	Site string
	// Interpreter is the absolute path of the interpreter, for the first line of scripts.
	Interpreter string
}

// A wheel is an opened wheel whose names and metadata are valid.
type wheel struct {
	name   resolve.WheelName
	layout Layout
	files  []*zip.File
	// info and data are the names of the folders NAME-VERSION.dist-info and .data.
	info, data string
	digests    map[string]string // from RECORD, by name
}

// InstallWheel returns the files that a wheel installs, sorted by path. The content of r is read
// when the files are opened, and verified by the digests in the wheel's RECORD. file is the
// file name of the wheel, which must support the target.
func InstallWheel(r io.ReaderAt, size int64, file string, t resolve.Target, l Layout) ([]File, error) {
	all, err := filesOf(r, size, file, t, l)
	if err != nil {
		return nil, fmt.Errorf("installing wheel %q: %w", file, err)
	}
	return all, nil
}

func filesOf(r io.ReaderAt, size int64, file string, t resolve.Target, l Layout) ([]File, error) {
	name, err := resolve.ParseWheelName(file)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("reading the archive: %w", err)
	}
	w := &wheel{name: name, layout: l}
	if err := w.list(z); err != nil {
		return nil, err
	}
	if err := w.checkTags(t); err != nil {
		return nil, err
	}
	if err := w.readRecord(); err != nil {
		return nil, err
	}
	return w.install()
}

// list checks the names and kinds of all entries. It keeps files, and finds dist-info.
func (w *wheel) list(z *zip.Reader) error {
	if len(z.File) > maxFiles {
		return fmt.Errorf("the archive has more than %d files", maxFiles)
	}
	var total uint64
	seen := map[string]bool{}
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, "/")
		if err := CheckPath(name); err != nil {
			return err
		}
		if !f.Mode().IsRegular() && !f.Mode().IsDir() {
			return fmt.Errorf("entry %q is a link or a special file", f.Name)
		}
		if f.Mode().IsDir() || strings.HasSuffix(f.Name, "/") {
			continue
		}
		if seen[name] {
			return fmt.Errorf("entry %q occurs twice", name)
		}
		seen[name] = true
		// UncompressedSize64 may be any number, and the sum must not overflow.
		if total += min(f.UncompressedSize64, maxBytes+1); total > maxBytes {
			return fmt.Errorf("the content is larger than %d GiB", maxBytes>>30)
		}
		w.files = append(w.files, f)
		top, _, _ := strings.Cut(name, "/")
		if strings.HasSuffix(top, ".dist-info") && top != w.info {
			if w.info != "" {
				return fmt.Errorf("the archive has two folders of metadata, %q and %q", w.info, top)
			}
			w.info = top
		}
	}
	stem, _ := strings.CutSuffix(w.info, ".dist-info")
	name, version, _ := strings.Cut(stem, "-")
	v, err := resolve.ParseVersion(version)
	if err != nil || resolve.Normalize(name) != w.name.Name || v.Compare(w.name.Version) != 0 {
		return fmt.Errorf("the archive has no folder of metadata for %s %s", w.name.Name, w.name.Version)
	}
	w.data = stem + ".data"
	return nil
}

// CheckPath returns an error for a path that is not clean and relative, that leaves its
// folder, or that has a special meaning in an image layer, such as a whiteout.
func CheckPath(name string) error {
	switch {
	case name == "" || path.IsAbs(name) || path.Clean(name) != name || name == "..", strings.HasPrefix(name, "../"), strings.ContainsAny(name, "\\\x00\n\r"):
		return fmt.Errorf("entry %q is not a relative path in the archive", name)
	case len(name) > 1024:
		return errors.New("the path of an entry has more than 1024 bytes")
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, oci.Whiteout) {
			return fmt.Errorf("entry %q would mark another file as deleted in an image", name)
		}
	}
	return nil
}

// checkTags checks the version of the format and the tags in the file WHEEL.
func (w *wheel) checkTags(t resolve.Target) error {
	text, err := w.read("WHEEL")
	if err != nil {
		return err
	}
	var tags []string
	var version string
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "wheel-version":
			version = strings.TrimSpace(value)
		case "tag":
			tags = append(tags, strings.TrimSpace(value))
		}
	}
	if major, _, _ := strings.Cut(version, "."); major != "1" {
		return fmt.Errorf("the wheel has the version %q of the format, expected 1.0", version)
	}
	if !t.Supports(w.name.Tags) || len(tags) > 0 && !t.Supports(tags) {
		return fmt.Errorf("the wheel is not for %s", t)
	}
	return nil
}

func (w *wheel) read(name string) (string, error) {
	full := w.info + "/" + name
	i := slices.IndexFunc(w.files, func(f *zip.File) bool { return f.Name == full })
	if i < 0 {
		return "", fmt.Errorf("the archive has no file %q", full)
	}
	r, err := w.files[i].Open()
	var data []byte
	if err == nil {
		data, err = fsx.ReadAll(r, maxMetadata)
		err = errors.Join(err, r.Close())
	}
	if err != nil {
		return "", fmt.Errorf("reading %q: %w", full, err)
	}
	return string(data), nil
}

// install maps the entries of the archive to files of the installation.
func (w *wheel) install() ([]File, error) {
	var all []File
	for _, f := range w.files {
		inCache := slices.Contains(strings.Split(f.Name, "/"), "__pycache__")
		isRecord := slices.Contains([]string{w.info + "/RECORD", w.info + "/RECORD.jws", w.info + "/RECORD.p7s"}, f.Name)
		if inCache || path.Ext(f.Name) == ".pyc" || isRecord { // Python compiles source again.
			continue
		}
		digest, ok := w.digests[f.Name]
		if !ok {
			return nil, fmt.Errorf("the file %q is not in RECORD", f.Name)
		}
		at, script, err := w.place(f.Name)
		if err != nil {
			return nil, err
		}
		file := File{Digest: digest, TarFile: runtimeimage.TarFile{Path: path.Join(w.layout.Site, at), Mode: 0o644, Size: int64(f.UncompressedSize64), Open: f.Open}}
		if script || f.Mode()&0o111 != 0 {
			file.Mode = 0o755
		}
		if script {
			if file, err = w.rewrite(file); err != nil {
				return nil, fmt.Errorf("reading script %q: %w", f.Name, err)
			}
		}
		all = append(all, file)
	}
	scripts, err := w.scripts()
	if err != nil {
		return nil, err
	}
	return withRecord(append(all, scripts...), w.layout.Site, w.info), nil
}

// place returns the path of an entry in the folder site-packages, and whether the entry is a
// script. The folders are the same as with pip and a target folder.
func (w *wheel) place(name string) (at string, script bool, err error) {
	rest, ok := strings.CutPrefix(name, w.data+"/")
	if !ok {
		return name, false, nil
	}
	scheme, rest, _ := strings.Cut(rest, "/")
	switch scheme {
	case "purelib", "platlib", "data":
		return rest, false, CheckPath(rest)
	case "scripts":
		return "bin/" + rest, true, CheckPath(rest)
	case "headers":
		return "include/" + w.name.Name + "/" + rest, false, CheckPath(rest)
	default:
		return "", false, fmt.Errorf("entry %q is in an unknown folder of data", name)
	}
}

// rewrite replaces the first line of a script for Python by a line with the interpreter.
func (w *wheel) rewrite(file File) (_ File, err error) {
	r, err := file.openVerified()
	if err != nil {
		return file, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	const mark = "#!python"
	script := bufio.NewReaderSize(r, 16)
	if head, _ := script.Peek(len(mark)); string(head) != mark {
		return file, nil
	}
	data, err := fsx.ReadAll(script, maxScript)
	if err != nil {
		return file, err
	}
	_, rest, _ := bytes.Cut(data, []byte("\n"))
	return NewFile(file.Path, 0o755, slices.Concat([]byte("#!"+w.layout.Interpreter+"\n"), rest)), nil
}
