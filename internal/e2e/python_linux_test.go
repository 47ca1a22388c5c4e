package e2e_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/imagetest"
)

// debianPython returns a root file system with Python of Debian. debootstrap creates it once;
// it stays in the user's cache directory.
func debianPython(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(cache, "xfn-test", "debian-python")
	if _, err := os.Stat(filepath.Join(root, "usr/lib/python3/dist-packages/grpc")); err == nil {
		return root
	}
	if _, err := exec.LookPath("debootstrap"); err != nil || os.Geteuid() != 0 || !requires("python") {
		t.Skip("a root file system with Python needs root and debootstrap; to create it, add python to XFN_REQUIRE")
	}
	made := filepath.Join(t.TempDir(), "root")
	mustExec(t, "sh", "../runtimes/sandbox/testdata/debian.sh", made, "python3-grpcio,python3-protobuf,python3-click,protobuf-compiler,protobuf-compiler-grpc")
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	mustExec(t, "mv", "-T", made, root)
	return root
}

// generated returns a folder with the Python code of the protocol of functions.
func generated(t testing.TB, root string) string {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	file := (&fnv1.RunFunctionRequest{}).ProtoReflect().Descriptor().ParentFile()
	for i := range file.Imports().Len() {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file.Imports().Get(i).FileDescriptor))
	}
	own := protodesc.ToFileDescriptorProto(file)
	own.Name = proto.String("run_function.proto")
	set.File = append(set.File, own)
	data, err := proto.Marshal(set)
	dir, errDir := os.MkdirTemp(filepath.Join(root, "tmp"), "generated")
	if err := errors.Join(err, errDir, os.WriteFile(filepath.Join(dir, "descriptors"), data, 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := "/tmp/" + filepath.Base(dir)
	mustExec(t, "chroot", root, "protoc", "--descriptor_set_in="+at+"/descriptors", "--python_out="+at, "--grpc_python_out="+at, "--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin", "run_function.proto")
	if err := os.Remove(filepath.Join(dir, "descriptors")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wheelOf returns a wheel of the files of an installed package, which are below dir.
func wheelOf(t testing.TB, dir, name, version, tag string, folders ...string) []byte {
	t.Helper()
	var b, record bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(file string, data []byte) {
		sum := sha256.Sum256(data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", file, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		w, err := z.Create(file)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
	}
	info := name + "-" + version + ".dist-info/"
	add(info+"METADATA", fmt.Appendf(nil, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version))
	add(info+"WHEEL", []byte("Wheel-Version: 1.0\nTag: "+tag+"\n"))
	add(info+"RECORD", record.Bytes())
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A pythonFunction is a function in Python, and the index and the base image for it.
type pythonFunction struct {
	dir, cache, index, base string
}

// newPythonFunction serves wheels made of Debian's packages for the tags native and any, and
// copies the function of testdata with a lock file for them.
func newPythonFunction(t testing.TB) pythonFunction {
	t.Helper()
	root := debianPython(t)
	packages := filepath.Join(root, "usr/lib/python3/dist-packages")
	found, err := filepath.Glob(filepath.Join(root, "usr/bin/python3.*[0-9]"))
	if err != nil || len(found) == 0 {
		t.Fatalf("the root has no Python: %v", err)
	}
	python := "cp" + strings.ReplaceAll(strings.TrimPrefix(filepath.Base(found[0]), "python"), ".", "")
	wheels := map[string][]byte{
		"click-8.1.3-py3-none-any.whl":    wheelOf(t, packages, "click", "8.1.3", "py3-none-any", "click"),
		"run_function-1-py3-none-any.whl": wheelOf(t, generated(t, root), "run_function", "1", "py3-none-any", "."),
	}
	for _, machine := range []string{"x86_64", "aarch64"} {
		tag := python + "-" + python + "-linux_" + machine
		wheels["grpcio-1.51.1-"+tag+".whl"] = wheelOf(t, packages, "grpcio", "1.51.1", tag, "grpc")
		wheels["protobuf-4.21.12-"+tag+".whl"] = wheelOf(t, packages, "protobuf", "4.21.12", tag, "google")
	}
	f := pythonFunction{dir: t.TempDir(), cache: t.TempDir(), base: withoutPackages(t, root)}
	if err := os.CopyFS(f.dir, os.DirFS("testdata/python")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, ok := wheels[path.Base(r.URL.Path)]; ok {
			w.Write(data)
			return
		}
		name := strings.ReplaceAll(path.Base(r.URL.Path), "-", "_")
		for file, data := range wheels {
			if strings.HasPrefix(file, name+"-") {
				fmt.Fprintf(w, "<a href=\"/%s#sha256=%x\">%s</a>\n", file, sha256.Sum256(data), file)
			}
		}
	}))
	t.Cleanup(server.Close)
	f.index = server.URL + "/simple"
	hashes := map[string]string{}
	for file, data := range wheels {
		parts := strings.Split(file, "-")
		hashes[parts[0]+"=="+parts[1]] += fmt.Sprintf(" --hash=sha256:%x", sha256.Sum256(data))
	}
	var lock strings.Builder
	for name, list := range hashes {
		fmt.Fprintln(&lock, name+list)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "requirements.txt"), []byte(lock.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return f
}

// withoutPackages returns a tar of a root without the packages that the wheels have.
func withoutPackages(t testing.TB, root string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "root.tar")
	mustExec(t, "tar", "-C", root, "--exclude=./usr/lib/python3/dist-packages/*", "--exclude=./usr/share", "--exclude=./var", "--exclude=./usr/lib/*/perl*", "-cf", file, ".")
	return file
}

// pythonBase returns a layout with images for two platforms that have the versions of Debian's
// Python and libc, but not the programs.
func pythonBase(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(debianPython(t), "usr/bin/python3.*[0-9]"))
	if err != nil || len(found) == 0 {
		t.Fatalf("the root has no Python: %v", err)
	}
	layer, err := imagetest.Layer(map[string][]byte{
		"usr/bin/" + filepath.Base(found[0]): []byte("\x7fELF"),
		"usr/lib/libc.so.6":                  []byte("GNU C Library (Debian GLIBC) stable release version 2.36.\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, arch := range []string{"amd64", "arm64"} {
		all = append(all, imagetest.Configured(t, imagetest.Image(t, v1.Config{}, layer), v1.Platform{OS: "linux", Architecture: arch}, v1.Config{}))
	}
	return imagetest.Layout(t, all...)
}

func (f pythonFunction) run(t testing.TB, args ...string) string {
	t.Helper()
	cmd := e2e.Command(t, args...)
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = f.dir, &stderr
	cmd.Env = append(os.Environ(), "XFN_CACHE_DIR="+f.cache)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("xfn %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func (f pythonFunction) args(more ...string) []string {
	return append([]string{"xpkg", "build", "--package-root", "package", "--embed-runtime-source", ".", "--base-image", f.base, "--index-url", f.index, "-o", "fn.xpkg"}, more...)
}

// TestPython builds a function in Python with grpcio and protobuf of Debian, from an index
// and then from the cache, and runs it in the sandbox.
func TestPython(t *testing.T) {
	f := newPythonFunction(t)
	first := f.run(t, f.args()...)
	if got := f.run(t, f.args("--offline")...); got != first {
		t.Errorf("from the cache: got %s, want %s", got, first)
	}
	out := f.run(t, "render", "xr.yaml", "composition.yaml", "functions.yaml", "--package", "function-python=fn.xpkg", "--timeout", "5m")
	for _, want := range []string{"kind: Bucket", "region: 日本", "version: 0.0.0"} {
		if !strings.Contains(out, want) {
			t.Errorf("the render lacks %q:\n%s", want, out)
		}
	}
}
