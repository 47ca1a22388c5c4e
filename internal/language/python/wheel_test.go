package python_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

var (
	target = resolve.Target{Arch: "amd64", Minor: 13, LibcMajor: 2, LibcMinor: 41}
	layout = python.Layout{Site: "fn/site-packages", Interpreter: "/fn/bin/python3.13"}
)

// An entry is a file in a wheel. Its mode may be the mode of a link.
type entry struct {
	name, text string
	mode       fs.FileMode
	stored     bool // without compression, which is faster
}

const (
	meta     = "demo-1.0.dist-info/"
	wheelRow = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)

// pack returns the bytes of a wheel with the folder of metadata info, and a RECORD of the
// entries there.
func pack(t testing.TB, info string, entries ...entry) []byte {
	t.Helper()
	var record strings.Builder
	record.WriteString(info + "RECORD,,\n")
	for _, e := range entries {
		sum := sha256.Sum256([]byte(e.text))
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.text))
	}
	return archive(t, append(entries, entry{name: info + "RECORD", text: record.String()})...)
}

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.stored {
			h.Method = zip.Store
		}
		h.SetMode(e.mode | 0o644)
		w, err := z.CreateHeader(h)
		if err == nil && !strings.HasSuffix(e.name, "/") {
			_, err = io.WriteString(w, e.text)
		}
		e2e.NoError(t, err)
	}
	e2e.NoError(t, z.Close())
	return b.Bytes()
}

func install(data []byte) ([]python.File, error) {
	return python.InstallWheel(bytes.NewReader(data), int64(len(data)), "demo-1.0-py3-none-any.whl", target, layout)
}

func TestInstall(t *testing.T) {
	files := e2e.Must(install(pack(t, meta,
		entry{name: "demo/__init__.py", text: "x = 1\n"},
		entry{name: "demo/run.sh", text: "#!/bin/sh\n", mode: 0o755},
		entry{name: "demo/__pycache__/a.cpython-313.pyc", text: "compiled"},
		entry{name: "demo-1.0.data/purelib/more.py", text: "y = 2\n"},
		entry{name: "demo-1.0.data/scripts/tool", text: "#!python\nprint(1)\n"},
		entry{name: "demo-1.0.data/scripts/native", text: "\x7fELF"},
		entry{name: "demo-1.0.data/data/share/demo.txt", text: "text"},
		entry{name: "demo-1.0.data/headers/demo.h", text: "int x;"},
		entry{name: meta + "WHEEL", text: wheelRow},
		entry{name: meta + "METADATA", text: "Name: demo\nVersion: 1.0\n"},
		entry{name: meta + "entry_points.txt", text: "[console_scripts]\ndemo = demo.main:app.cli [extra]\n# x = y\n[other]\nz = no script\n"},
	)))(t)
	var out bytes.Buffer
	e2e.NoError(t, python.WriteTar(t.Context(), &out, files))
	got := map[string]string{}
	for h, data := range e2e.Tar(t, &out) {
		if h.Uid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s has the owner %d and the time %s", h.Name, h.Uid, h.ModTime)
		}
		if h.Typeflag == tar.TypeReg {
			got[fmt.Sprintf("%s %o", strings.TrimPrefix(h.Name, "fn/site-packages/"), h.Mode)] = data
		}
	}
	record := got[meta+"RECORD 644"]
	delete(got, meta+"RECORD 644")
	want := map[string]string{
		"demo/__init__.py 644": "x = 1\n", "demo/run.sh 755": "#!/bin/sh\n", "more.py 644": "y = 2\n", "share/demo.txt 644": "text", "include/demo/demo.h 644": "int x;",
		"bin/tool 755": "#!/fn/bin/python3.13\nprint(1)\n", "bin/native 755": "\x7fELF",
		"bin/demo 755":        "#!/fn/bin/python3.13\nimport sys\n\nfrom demo.main import app\n\nif __name__ == \"__main__\":\n    sys.exit(app.cli())\n",
		meta + "WHEEL 644":    wheelRow,
		meta + "METADATA 644": "Name: demo\nVersion: 1.0\n", meta + "INSTALLER 644": "xfn\n",
		meta + "entry_points.txt 644": "[console_scripts]\ndemo = demo.main:app.cli [extra]\n# x = y\n[other]\nz = no script\n",
	}
	e2e.Equal(t, "each file of the wheel is installed in its place", want, got)
	if n := strings.Count(record, "\n"); n != len(want)+1 || !strings.HasPrefix(record, "bin/demo,sha256=") || strings.Contains(record, ".pyc") {
		t.Errorf("RECORD must list each file once, got:\n%s", record)
	}
}

func TestInstallRefuses(t *testing.T) {
	good := []entry{{name: meta + "WHEEL", text: wheelRow}, {name: meta + "METADATA", text: "Name: demo\n"}}
	with := func(more ...entry) []byte { return pack(t, meta, append(more, good...)...) }
	cases := map[string]struct {
		reason string
		data   []byte
		want   string
	}{
		"NotZip":       {"a wheel is a zip archive", []byte("text"), "reading the archive"},
		"Absolute":     {"an absolute path leaves site-packages", with(entry{name: "/etc/passwd"}), `"/etc/passwd" is not a relative path`},
		"Parent":       {"a path with .. leaves site-packages", with(entry{name: "a/../../b"}), "is not a relative path"},
		"DataParent":   {"a path of data with .. leaves site-packages", with(entry{name: "demo-1.0.data/data/../../../b"}), "is not a relative path"},
		"Backslash":    {"a backslash separates folders on other systems", with(entry{name: `a\b`}), "is not a relative path"},
		"Link":         {"a link may lead anywhere", with(entry{name: "a", text: "/etc/passwd", mode: fs.ModeSymlink}), `"a" is a link or a special file`},
		"Device":       {"a device is not a file", with(entry{name: "a", mode: fs.ModeDevice}), `"a" is a link or a special file`},
		"Whiteout":     {"a file must not mark another file as deleted", with(entry{name: "a/.wh.b"}), "would mark another file as deleted"},
		"Twice":        {"the second of two entries would replace the first", with(entry{name: "a"}, entry{name: "a"}), `"a" occurs twice`},
		"NoMetadata":   {"the metadata must be of this package", archive(t, entry{name: "other-1.0.dist-info/WHEEL"}), "no folder of metadata for demo 1.0"},
		"TwoMetadata":  {"a wheel is one package", with(entry{name: "other-1.0.dist-info/METADATA"}), "two folders of metadata"},
		"NoRecord":     {"RECORD is required", archive(t, good...), `no file "demo-1.0.dist-info/RECORD"`},
		"NotInRecord":  {"RECORD lists all files", archive(t, append(good, entry{name: meta + "RECORD"})...), `"demo-1.0.dist-info/WHEEL" is not in RECORD`},
		"WeakDigest":   {"MD5 is not enough", archive(t, append(good, entry{name: meta + "RECORD", text: "a,md5=x,1\n"})...), `digest "md5=x"`},
		"BrokenRecord": {"RECORD is CSV", archive(t, append(good, entry{name: meta + "RECORD", text: "a,\"b\n"})...), "parsing RECORD"},
		"NewFormat":    {"a newer format may have another meaning", pack(t, meta, entry{name: meta + "WHEEL", text: "Wheel-Version: 2.0\n"}), `version "2.0" of the format`},
		"Processor":    {"the metadata says another platform than the name", pack(t, meta, entry{name: meta + "WHEEL", text: "Wheel-Version: 1.0\nTag: cp313-cp313-win_amd64\n"}), "the wheel is not for linux/amd64"},
		"Data":         {"data has five folders", with(entry{name: "demo-1.0.data/etc/x"}), "unknown folder of data"},
		"DataFolder":   {"data needs a path", with(entry{name: "demo-1.0.data/purelib"}), "not a relative path"},
		"ScriptName":   {"a script stays in its folder", with(entry{name: meta + "entry_points.txt", text: "[console_scripts]\n../x = a:b\n"}), "a name that is not a file name"},
		"ScriptDigest": {"a script is verified before its first line is replaced", archive(t, append(good, entry{name: "demo-1.0.data/scripts/x", text: "#!python\n"}, entry{name: meta + "RECORD", text: strings.Join([]string{meta + "WHEEL", meta + "METADATA", "demo-1.0.data/scripts/x"}, ",sha256=x,1\n") + ",sha256=x,1\n"})...), "the content differs from the digest"},
		"ScriptCode":   {"a reference is not code", with(entry{name: meta + "entry_points.txt", text: "[console_scripts]\nx = a:b; import os\n"}), "expected module:function"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.ErrorHas(t, tc.reason, e2e.Err(install(tc.data)), tc.want)
		})
	}
}

// TestBomb installs a wheel whose directory says that one file has 5 GiB.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w := e2e.Must(z.CreateRaw(&zip.FileHeader{Name: "a", UncompressedSize64: 5 << 30, CompressedSize64: 1, Method: zip.Deflate}))(t)
	e2e.Must(w.Write([]byte{0}))(t)
	e2e.NoError(t, z.Close())
	e2e.ErrorHas(t, "the size of an installed file is limited", e2e.Err(install(b.Bytes())), "larger than 4 GiB")
}

func TestInstallManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs 50,000 files")
	}
	const many = 50_000
	all := []entry{{name: meta + "WHEEL", text: wheelRow}, {name: meta + "METADATA", text: "Name: demo\n"}}
	for i := range many {
		all = append(all, entry{name: fmt.Sprintf("demo/%d/%d.py", i%100, i), text: fmt.Sprint(i), stored: true})
	}
	files, err := install(pack(t, meta, all...))
	if err != nil || len(files) < many {
		t.Errorf("got %d files, %v", len(files), err)
	}
}

func TestContentIsVerified(t *testing.T) {
	row := func(name, text string) string {
		sum := sha256.Sum256([]byte(text))
		return fmt.Sprintf("%s,sha256=%s,\n", name, base64.RawURLEncoding.EncodeToString(sum[:]))
	}
	files := e2e.Must(install(archive(t, entry{name: "a.py", text: "changed"}, entry{name: meta + "WHEEL", text: wheelRow},
		entry{name: meta + "RECORD", text: row("a.py", "original") + row(meta+"WHEEL", wheelRow)})))(t)
	e2e.ErrorHas(t, "the content of a.py differs from its digest", python.WriteTar(t.Context(), io.Discard, files), `adding "/fn/site-packages/a.py": the content differs`)
}

func TestSet(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   []python.File
		want   string
	}{
		"Equal":  {"two packages may have the same file", []python.File{python.NewFile("a", 0o644, nil)}, []python.File{python.NewFile("a", 0o644, nil)}, ""},
		"Differ": {"a package must not replace another's file", []python.File{python.NewFile("a", 0o644, nil)}, []python.File{python.NewFile("a", 0o644, []byte("x"))}, `packages one and two both have the file "/a"`},
		"Folder": {"a file is not a folder", []python.File{python.NewFile("a/b/c", 0o644, nil)}, []python.File{python.NewFile("a", 0o644, nil)}, `package two has the file "/a", where package one has a folder`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var s python.FileSet
			err := s.Add("one", tc.a)
			if err == nil {
				err = s.Add("two", tc.b)
			}
			if err == nil {
				_, err = s.Files()
			}
			e2e.WantError(t, tc.reason, err, tc.want)
		})
	}
}

// FuzzInstall installs foreign archives, and writes the layer of valid ones.
func FuzzInstall(f *testing.F) {
	f.Add(pack(f, meta, entry{name: "demo/a.py", text: "x"}, entry{name: meta + "WHEEL", text: wheelRow}))
	f.Add(pack(f, meta, entry{name: "demo-1.0.data/scripts/x", text: "#!python\n"}, entry{name: meta + "WHEEL", text: wheelRow}, entry{name: meta + "entry_points.txt", text: "[console_scripts]\na=b:c\n"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := install(data)
		if err != nil {
			return
		}
		for _, file := range files {
			if !strings.HasPrefix(file.Path, layout.Site+"/") || strings.Contains(file.Path, "..") && python.CheckPath(file.Path) != nil {
				t.Errorf("file %q is outside of site-packages", file.Path)
			}
		}
		_ = python.WriteTar(t.Context(), io.Discard, files)
	})
}
