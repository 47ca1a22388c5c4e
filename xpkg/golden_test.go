package xpkg_test

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/xpkg"
)

const goldenDir = "testdata/golden/build"

// Links are kept as files that hold the target, so that they survive any
// checkout. These are links again when a case runs.
var links = map[string]string{
	"fs-symlink-dangling":      "package/crd.yaml",
	"fs-symlink-dir":           "package/crds",
	"fs-symlink-dir-yaml-name": "package/d.yaml",
	"fs-symlink-escape":        "package/crd.yaml",
	"fs-symlink-examples-root": "exlink",
	"fs-symlink-inside":        "package/crd.yaml",
	"fs-symlink-loop":          "package/l.yaml",
	"fs-symlink-root":          "link",
}

// notHere are cases of the command line and of runtime images, which other
// packages test.
func notHere(name string) bool {
	switch name {
	case "out-positional", "out-unknown-flag":
		return true
	}
	return strings.HasPrefix(name, "runtime-")
}

// The incumbent built the packages of testdata/golden/build, or failed to. We
// agree to the byte, but for what the two lists beside it say.
func TestGolden(t *testing.T) {
	deferred := list(t, "testdata/golden/DEFERRED.md")
	different := list(t, "testdata/golden/DIFFERENCES.md")
	cases, err := os.ReadDir(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		name := c.Name()
		if notHere(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join(goldenDir, name))
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(workingDir(t, name))
			got, err := readCase(t, dir)
			problem := compare(t, dir, got, err)
			switch reason, listed := firstOf(name, deferred, different); {
			case listed && problem == "":
				t.Errorf("agrees with the incumbent, but is listed: %s", reason)
			case !listed && problem != "":
				t.Error(problem)
			}
		})
	}
}

func firstOf(name string, lists ...map[string]string) (string, bool) {
	for _, l := range lists {
		if reason, ok := l[name]; ok {
			return reason, true
		}
	}
	return "", false
}

// list reads the rows "| case | reason |" of a table.
func list(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		cells := strings.Split(s.Text(), "|")
		if len(cells) < 4 {
			continue
		}
		name := strings.TrimSpace(cells[1])
		if _, err := os.Stat(filepath.Join(goldenDir, name)); err == nil {
			rows[name] = strings.TrimSpace(cells[2])
		}
	}
	return rows
}

// workingDir makes the directory that a case ran in.
func workingDir(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(goldenDir, name, "in"))); err != nil {
		t.Fatal(err)
	}
	if empty, err := os.ReadFile(filepath.Join(goldenDir, name, "emptydirs")); err == nil {
		for d := range strings.FieldsSeq(string(empty)) {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	link, ok := links[name]
	if !ok {
		return dir
	}
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege there")
	}
	path := filepath.Join(dir, link)
	target, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(string(target), path); err != nil {
		t.Fatal(err)
	}
	return dir
}

// readCase reads the package of the working directory by a case's arguments,
// and writes it if the case is about that.
func readCase(t *testing.T, dir string) (*xpkg.Package, error) {
	t.Helper()
	root, output, opts := arguments(t, dir)
	pkg, err := xpkg.Read(t.Context(), afero.NewOsFs(), root, opts)
	if err != nil || output == "" || !strings.HasPrefix(filepath.Base(dir), "out-") {
		return pkg, err
	}
	return pkg, xpkg.WriteFile(t.Context(), output, build(t, pkg), nil)
}

func arguments(t *testing.T, dir string) (root, output string, opts xpkg.ReadOptions) {
	t.Helper()
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(read(t, filepath.Join(dir, "args")), "\n")
	text = strings.ReplaceAll(text, "{tmp}/case", cwd)
	args := strings.Split(text, "\n")
	root, opts.ExamplesRoot = ".", "examples"
	for i := 0; i < len(args); i++ {
		flag, value, ok := strings.Cut(args[i], "=")
		if !ok && i+1 < len(args) {
			i++
			value = args[i]
		}
		switch flag {
		case "-f", "--package-root":
			root = value
		case "-o", "--package-file":
			output = value
		case "-e", "--examples-root":
			opts.ExamplesRoot = value
		case "--ignore":
			opts.Ignore = strings.Split(value, ",")
		}
	}
	return root, output, opts
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// compare says how we and the incumbent differ, or "".
func compare(t *testing.T, dir string, got *xpkg.Package, err error) string {
	t.Helper()
	if strings.TrimSpace(read(t, filepath.Join(dir, "exit"))) != "0" {
		if err == nil {
			return "the incumbent refuses it, we do not: " + read(t, filepath.Join(dir, "stderr"))
		}
		t.Log(err)
		return ""
	}
	if err != nil {
		return "the incumbent builds it, we refuse: " + err.Error()
	}
	if diff := cmp.Diff(read(t, filepath.Join(dir, "package.yaml")), string(got.YAML)); diff != "" {
		return "package.yaml (-incumbent +ours):\n" + diff
	}
	want, hasExamples := "", exists(filepath.Join(dir, "examples.yaml"))
	if hasExamples {
		want = read(t, filepath.Join(dir, "examples.yaml"))
	}
	if (got.Examples != nil) != hasExamples {
		return "one has examples and the other has not"
	}
	if diff := cmp.Diff(want, string(got.Examples)); diff != "" {
		return "examples.yaml (-incumbent +ours):\n" + diff
	}
	if diff := cmp.Diff(goldenLayers(t, dir), builtLayers(t, got)); diff != "" {
		return "layers (-incumbent +ours):\n" + diff
	}
	return ""
}

// A layer is what is the same in any correct package: the mark and the files.
// The digest depends on who compressed it.
type layer struct {
	Mark  string `json:"config_label"`
	Files []layerFile
}

type layerFile struct {
	Name, Type, Mode, SHA256 string
	UID, GID                 int
	Mtime, Size              int64
}

func goldenLayers(t *testing.T, dir string) []layer {
	t.Helper()
	var image struct{ Layers []layer }
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "image.json"))), &image); err != nil {
		t.Fatal(err)
	}
	return image.Layers
}

// builtLayers describes the layers of the image that is made of pkg.
func builtLayers(t *testing.T, pkg *xpkg.Package) []layer {
	t.Helper()
	img := build(t, pkg).(v1.Image)
	m, config := manifestOf(t, img), configOf(t, img)
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	all := make([]layer, len(layers))
	for i, l := range layers {
		all[i].Mark = config.Config.Labels["io.crossplane.xpkg:"+m.Layers[i].Digest.String()]
		rc, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		tr := tar.NewReader(rc)
		for h, err := tr.Next(); !errors.Is(err, io.EOF); h, err = tr.Next() {
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			all[i].Files = append(all[i].Files, layerFile{h.Name, "file", fmt.Sprintf("%04o", h.Mode), fmt.Sprintf("%x", sha256.Sum256(data)), h.Uid, h.Gid, h.ModTime.Unix(), h.Size})
		}
		if err := rc.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
