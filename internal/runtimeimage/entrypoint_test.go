package runtimeimage_test

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// FromDir finds the program of the entry point as an engine does: by PATH or from the
// working directory, through symbolic links, in the base image and in the directory.
func TestEntrypoint(t *testing.T) {
	base := []v1.Layer{
		tarLayer(
			t, member{name: "bin", link: "usr/bin", kind: tar.TypeSymlink},
			member{name: "usr/bin/link", link: "../lib/program", kind: tar.TypeSymlink}, member{name: "usr/lib/program", kind: tar.TypeReg, mode: 0o755},
			member{name: "usr/bin/hard", link: "usr/lib/program", kind: tar.TypeLink, mode: 0o755},
			member{name: "usr/bin/cycle", link: "/bin/cycle", kind: tar.TypeSymlink}, member{name: "usr/bin/dangling", link: "none", kind: tar.TypeSymlink},
			member{name: "usr/bin/data", kind: tar.TypeReg, mode: 0o644}, member{name: "usr/bin/dir/", kind: tar.TypeDir, mode: 0o755},
			member{name: "usr/bin/gone", kind: tar.TypeReg, mode: 0o755}, member{name: "opt/x/tool", kind: tar.TypeReg, mode: 0o755},
		),
		tarLayer(t, member{name: "usr/bin/.wh.gone", kind: tar.TypeReg}),
	}
	dir := files(t, map[string]string{"run*": "#!", "main.py": "", "bin/tool*": "#!"})
	e2e.NoError(t, os.Symlink("/usr/bin/python3", filepath.Join(dir, "venv")))
	e2e.NoError(t, os.MkdirAll(filepath.Join(dir, ".venv", "bin"), 0o755))
	e2e.NoError(t, os.Symlink("python3", filepath.Join(dir, ".venv", "bin", "python")))
	e2e.NoError(t, os.Symlink("/usr/local/bin/python3.11", filepath.Join(dir, ".venv", "bin", "python3")))
	cases := map[string]struct {
		reason, program string
		env             []string
		err             string
	}{
		"Path":       {"PATH has a default value", "python3", nil, ""},
		"Link":       {"symbolic links are followed", "link", nil, ""},
		"Hard":       {"a hard link is a program", "hard", nil, ""},
		"Absolute":   {"a folder of an absolute path can be a link", "/bin/python3", nil, ""},
		"Relative":   {"a relative path starts at the working directory", "./run", nil, ""},
		"Deeper":     {"a path with a slash is not searched in PATH", "bin/tool", nil, ""},
		"Venv":       {"a link of the directory leads to the base image", "./venv", nil, ""},
		"OwnPath":    {"a variable of the function replaces PATH", "tool", []string{"PATH=/usr/bin:/opt/x"}, ""},
		"NoSuch":     {"a program must exist", "nosuch", nil, `the entry point "nosuch" is not a file in a folder of the image's PATH (/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)`},
		"NotInPath":  {"only the folders of PATH are searched", "python3", []string{"PATH=/opt/x"}, `in a folder of the image's PATH (/opt/x)`},
		"NoFile":     {"a path must exist", "/bin/nosuch", nil, `the entry point "/bin/nosuch" is not a file in the image`},
		"NoSlash":    {"the working directory is not in PATH", "run", nil, `the entry point "run" is not a file in a folder`},
		"Dangling":   {"a link must lead to a file", "dangling", nil, `it is a link to "/usr/bin/none", which the image lacks`},
		"OwnPython":  {"a virtual environment has links to the Python of its machine", ".venv/bin/python", nil, `the entry point ".venv/bin/python" is not a file in the image: it is a link to "/usr/local/bin/python3.11", which the image lacks`},
		"Cycle":      {"a link must not lead to itself", "cycle", nil, `"cycle" is not a file`},
		"Gone":       {"a later layer can delete a program", "gone", nil, `"gone" is not a file`},
		"Folder":     {"a folder is not a program", "dir", nil, `"dir" is not a file`},
		"Data":       {"a file of the base image must be executable", "data", nil, `"data" is not executable`},
		"OwnData":    {"a file of the directory must be executable", "./main.py", nil, `"./main.py" is not executable`},
		"ParentPath": {"a path can leave the working directory", "../usr/bin/python3", nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := runtimeimage.Dir{Path: dir, Base: baseOf(t, v1.Config{}, base, amd64), Entrypoint: []string{tc.program, "main.py"}, Env: tc.env}
			if tc.err != "" {
				assertRefused(t, d, tc.reason, tc.err)
				return
			}
			fromDir(t, d)
		})
	}
}

// The image lacks the data of git, Python's cache and what .xpkgignore lists.
func TestFromDirLeavesOut(t *testing.T) {
	dir := files(t, map[string]string{
		"main.py": "", ".git/config": "", "lib/.git": "gitdir: x", "lib/__pycache__/a.pyc": "", "lib/a.py": "",
		"tests/a.py": "", "a.log": "", ".xpkgignore": "/tests\n*.log\n",
	})
	images := fromDir(t, runtimeimage.Dir{Path: dir, Base: scratch(t, amd64), Entrypoint: python})
	layers := e2e.Must(images[0].Layers())(t)
	want := []string{"function/", "function/lib/", "function/lib/a.py", "function/main.py"}
	e2e.Equal(t, "the layer has only files that are not ignored", want, memberNames(t, layers[len(layers)-1]))
}

// memberNames returns the names of the members of a layer, in order.
func memberNames(t *testing.T, l v1.Layer) (names []string) {
	t.Helper()
	for h := range e2e.Tar(t, e2e.Must(l.Uncompressed())(t)) {
		names = append(names, h.Name)
	}
	return names
}
