package e2e_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

var debianLock sync.Mutex

// debianPython returns a root file system with Python of Debian.
func debianPython(t testing.TB) string {
	t.Helper()
	return debianRoot(t, "usr/lib/python3/dist-packages/pydantic")
}

// debianRoot returns a root file system of Debian with Python, a shell and git, if it has a file.
// debootstrap creates it once; it stays in the user's cache directory.
func debianRoot(t testing.TB, file string) string {
	t.Helper()
	debianLock.Lock()
	defer debianLock.Unlock()
	cache := e2e.Must(os.UserCacheDir())(t)
	root := filepath.Join(cache, "xfn-test", "debian-python")
	if _, err := os.Stat(filepath.Join(root, file)); err == nil {
		return root
	}
	if _, err := exec.LookPath("debootstrap"); err != nil || os.Geteuid() != 0 || !e2e.Requires("python") {
		t.Skip("a root file system with Python needs root and debootstrap; to create it, add python to XFN_REQUIRE")
	}
	made := filepath.Join(t.TempDir(), "root")
	mustExec(t, "sh", "testdata/debian.sh", made, "git,python3-grpcio,python3-protobuf,python3-click,python3-pydantic,protobuf-compiler,protobuf-compiler-grpc")
	e2e.NoError(t, os.MkdirAll(filepath.Dir(root), 0o755))
	mustExec(t, "rm", "-rf", root)
	mustExec(t, "mv", "-T", made, root)
	return root
}

// generated returns a folder with the Python code of the protocol of functions, in the
// package of this path.
func generated(t testing.TB, root, pkg string) string {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	file := (&fnv1.RunFunctionRequest{}).ProtoReflect().Descriptor().ParentFile()
	for i := range file.Imports().Len() {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file.Imports().Get(i).FileDescriptor))
	}
	own := protodesc.ToFileDescriptorProto(file)
	own.Name = proto.String(path.Join(pkg, "run_function.proto"))
	set.File = append(set.File, own)
	data, err := proto.Marshal(set)
	dir, errDir := os.MkdirTemp(filepath.Join(root, "tmp"), "generated")
	e2e.NoError(t, errors.Join(err, errDir, os.WriteFile(filepath.Join(dir, "descriptors"), data, 0o644)))
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := "/tmp/" + filepath.Base(dir)
	mustExec(t, "chroot", root, "protoc", "--descriptor_set_in="+at+"/descriptors", "--python_out="+at, "--grpc_python_out="+at, "--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin", own.GetName())
	e2e.NoError(t, os.Remove(filepath.Join(dir, "descriptors")))
	return dir
}

// wheelOf returns a wheel of the files of an installed package, which are below dir. requires
// are its dependencies.
func wheelOf(t testing.TB, dir, name, version, tag, requires string, folders ...string) []byte {
	t.Helper()
	var b, record bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(file string, data []byte) {
		sum := sha256.Sum256(data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", file, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		w := e2e.Must(z.Create(file))(t)
		e2e.Must(w.Write(data))(t)
	}
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(dir), folder, func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || path.Ext(file) == ".pyc" {
				return err
			}
			data, err := os.ReadFile(filepath.Join(dir, file))
			add(file, data)
			return err
		})
		e2e.NoError(t, err)
	}
	info := name + "-" + version + ".dist-info/"
	metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)
	for _, r := range strings.Fields(requires) {
		metadata += "Requires-Dist: " + r + "\n"
	}
	add(info+"METADATA", []byte(metadata))
	add(info+"WHEEL", []byte("Wheel-Version: 1.0\nTag: "+tag+"\n"))
	add(info+"RECORD", record.Bytes())
	e2e.NoError(t, z.Close())
	return b.Bytes()
}

// A pythonFunction is a function in Python, and the index and the base image for it.
type pythonFunction struct {
	dir, cache, index, base string
}

// wheels are wheels by file name.
type wheels map[string][]byte

// add adds wheels of Debian's files of a package. A package with compiled code has one for
// each platform.
func (w wheels) add(t testing.TB, root, name, version string, native bool, folders ...string) {
	t.Helper()
	tags := []string{"py3-none-any"}
	if native {
		tags = nil
		python := "cp" + strings.ReplaceAll(strings.TrimPrefix(filepath.Base(pythonOf(t, root)), "python"), ".", "")
		for _, machine := range []string{"x86_64", "aarch64"} {
			tags = append(tags, python+"-"+python+"-linux_"+machine)
		}
	}
	for _, tag := range tags {
		w[name+"-"+version+"-"+tag+".whl"] = wheelOf(t, filepath.Join(root, "usr/lib/python3/dist-packages"), name, version, tag, "", folders...)
	}
}

// pythonOf returns the path of the interpreter in a root.
func pythonOf(t testing.TB, root string) string {
	t.Helper()
	found := e2e.Glob(t, filepath.Join(root, "usr/bin/python3.*[0-9]"))
	return found[0]
}

// serve starts an index that has the wheels, and returns its URL.
func (w wheels) serve(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rsp http.ResponseWriter, r *http.Request) {
		if data, ok := w[path.Base(r.URL.Path)]; ok {
			rsp.Write(data)
			return
		}
		name := strings.ReplaceAll(path.Base(r.URL.Path), "-", "_")
		for file, data := range w {
			if strings.HasPrefix(file, name+"-") {
				fmt.Fprintf(rsp, "<a href=\"/%s#sha256=%x\">%s</a>\n", file, sha256.Sum256(data), file)
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/simple"
}

// lock returns a requirements.txt of the wheels.
func (w wheels) lock() string {
	hashes := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(w)) {
		parts := strings.Split(file, "-")
		hashes[parts[0]+"=="+parts[1]] += fmt.Sprintf(" --hash=sha256:%x", sha256.Sum256(w[file]))
	}
	var lock strings.Builder
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintln(&lock, name+hashes[name])
	}
	return lock.String()
}

// newPythonFunction serves wheels made of Debian's packages for the tags native and any, and
// copies the function of testdata with a lock file for them.
func newPythonFunction(t testing.TB) pythonFunction {
	t.Helper()
	root, w := debianPython(t), wheels{}
	w["run_function-1-py3-none-any.whl"] = wheelOf(t, generated(t, root, ""), "run_function", "1", "py3-none-any", "", ".")
	w.add(t, root, "click", "8.1.3", false, "click")
	w.add(t, root, "grpcio", "1.51.1", true, "grpc")
	w.add(t, root, "protobuf", "4.21.12", true, "google")
	f := pythonFunction{dir: t.TempDir(), cache: t.TempDir(), base: debianPythonBase(t), index: w.serve(t)}
	e2e.NoError(t, os.CopyFS(f.dir, os.DirFS("testdata/python")))
	e2e.WriteFile(t, filepath.Join(f.dir, "requirements.txt"), w.lock())
	return f
}

// debianPythonBase returns an OCI layout with base images for two platforms, which have Python
// of Debian without the packages that the wheels have. It stays in the user's cache directory.
func debianPythonBase(t testing.TB) string {
	t.Helper()
	return storedLayout(t, "debian-python-base", func() string {
		root, file := debianPython(t), filepath.Join(t.TempDir(), "layer.tar")
		args := []string{"-C", root, "-cf", file}
		for _, unused := range []string{"usr/lib/python3/dist-packages/*", "usr/lib/python3.*/test", "usr/lib/*/perl*", "usr/lib/*/gconv", "usr/lib/apt", "tmp/*"} {
			args = append(args, "--exclude=./"+unused)
		}
		mustExec(t, "tar", append(args, "./lib", "./lib64", "./usr/lib", "./usr/lib64", "./usr/bin/python3", "./usr/bin/"+filepath.Base(pythonOf(t, root)), "./etc", "./tmp")...)
		return layoutOf(t, file)
	})
}

// pythonBase returns a layout with images for two platforms that have the versions of Debian's
// Python and libc, but not the programs.
func pythonBase(t testing.TB) string {
	t.Helper()
	layer, err := remotetest.Layer(map[string][]byte{
		"usr/bin/" + filepath.Base(pythonOf(t, debianPython(t))): []byte("\x7fELF"),
		"usr/lib/libc.so.6": []byte("GNU C Library (Debian GLIBC) stable release version 2.36.\n"),
	})
	e2e.NoError(t, err)
	var all []mutate.Appendable
	for _, arch := range []string{"amd64", "arm64"} {
		all = append(all, remotetest.Configured(t, remotetest.Image(t, v1.Config{}, layer), v1.Platform{OS: "linux", Architecture: arch}, v1.Config{}))
	}
	return remotetest.Layout(t, all...)
}

func (f pythonFunction) run(t testing.TB, args ...string) string {
	t.Helper()
	cmd := f.command(t, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || strings.Contains(stderr.String(), "warning: ") {
		t.Fatalf("xfn %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// command returns a command of xfn in the folder of the function.
func (f pythonFunction) command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := e2e.Command(t, args...)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), "XFN_CACHE_DIR="+f.cache)
	return cmd
}

func (f pythonFunction) args(more ...string) []string {
	return append([]string{"xpkg", "build", "--package-root", "package", "--embed-runtime-source", ".", "--base-image", f.base, "--index-url", f.index, "-o", "fn.xpkg"}, more...)
}

// TestPython builds a function in Python with grpcio and protobuf of Debian, from an index
// and then from the cache, and runs it in the sandbox.
func TestPython(t *testing.T) {
	t.Parallel()
	f := newPythonFunction(t)
	first := f.run(t, f.args()...)
	e2e.Equal(t, "a render from the cache is the same", first, f.run(t, f.args("--offline")...))
	out := f.run(t, "render", "xr.yaml", "composition.yaml", "functions.yaml", "--package", "function-python=fn.xpkg", "--timeout", "5m")
	for _, want := range []string{"kind: Bucket", "region: 日本", "version: 0.0.0", "able: 'forks: True, user: "} {
		e2e.Has(t, "the render has the resources of the template", out, want)
	}
	pullBase(t, f.cache, python.Language().Base, f.base)
	cmd := f.command(t, "dev", "xr.yaml", "composition.yaml", "--package", "function-python=.", "--index-url", f.index, "--offline")
	rendersAgain(t, cmd, `^rendered `, "function/main.py", `"region": region`, `"region": "eu"`, `~ spec\.region: "?日本"? → "?eu"?$`)

	main := filepath.Join(f.dir, "function", "main.py")
	text, err := os.ReadFile(main)
	e2e.NoError(t, errors.Join(err, os.WriteFile(main, append([]byte("import requests\n"), text...), 0o600)))
	const where, next = `function/main.py:1: module "requests" is in no package that the lock file installs`, "add the package of requests to dependencies in pyproject.toml, and lock again"
	built, err := f.command(t, f.args("--offline")...).CombinedOutput()
	if err != nil || !strings.Contains(string(built), "warning: "+where) {
		t.Errorf("the build with an unknown module: %v\n%s", err, built)
	}
	failed, err := f.command(t, "render", "xr.yaml", "composition.yaml", "functions.yaml", "--package", "function-python=.", "--index-url", f.index, "--offline", "--timeout", "5m").CombinedOutput()
	for _, want := range []string{where, "ModuleNotFoundError: No module named 'requests'", "\nhint: " + next} {
		if err == nil || !strings.Contains(string(failed), want) {
			t.Errorf("the render with an unknown module lacks %q: %v\n%s", want, err, failed)
		}
	}
}
