package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// pythonVar is an environment variable with the path of the Python package, if that is
// built already.
const pythonVar = "XFN_TEST_PYTHON"

// TestPython runs a Python function from a package with a complete Debian root, as root and
// as an ordinary user. Building the package takes a minute and needs root and a Debian
// mirror, so the test runs only if XFN_REQUIRE contains python.
func TestPython(t *testing.T) {
	if file := os.Getenv(pythonVar); file != "" {
		answersInPython(t, file)
		return
	}
	if !slices.Contains(strings.Split(os.Getenv("XFN_REQUIRE"), ","), "python") {
		t.Skip("it needs a Debian mirror; to run it, add python to XFN_REQUIRE")
	}
	file := pythonPackage(t)
	t.Run("Root", func(t *testing.T) { answersInPython(t, file) })
	t.Run("OrdinaryUser", func(t *testing.T) {
		out := asOrdinaryUser(t, []string{pythonVar + "=" + file}, "-test.v", "-test.run=^TestPython$")
		if !strings.Contains(out, "--- PASS: TestPython ") {
			t.Errorf("the test did not run:\n%s", out)
		}
	})
}

func answersInPython(t *testing.T, file string) {
	var mu sync.Mutex
	var said []string
	s := sandbox.Sandbox{Cache: t.TempDir(), LocalOptions: runtimes.LocalOptions{Output: func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, line)
	}}}
	instance, err := s.Start(t.Context(), runtimes.Function{Name: "python", Package: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := instance.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	request, want := &fnv1.RunFunctionRequest{}, &fnv1.RunFunctionResponse{}
	decode(t, `{"meta": {"tag": "t"}, "observed": {"composite": {"resource": {"spec": {"region": "日本"}}}},
		"desired": {"resources": {"other": {"ready": "READY_TRUE"}}}}`, request)
	decode(t, `{"meta": {"tag": "t"}, "desired": {"resources": {"other": {"ready": "READY_TRUE"},
		"bucket": {"resource": {"spec": {"region": "日本"}, "able": {"forks": true, "user": "1000", "processors": true}}}}}}`, want)
	for range 3 {
		got, err := instance.RunFunction(t.Context(), "python", request)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("RunFunction(): -want, +got:\n%s", diff)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"läuft"}, said); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func decode(t testing.TB, text string, m proto.Message) {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
}

// pythonPackage builds a package that every user can read. The base image is a Debian
// root with Python. The layer above contains the function, and the code that Debian's
// protoc generates.
func pythonPackage(t testing.TB) string {
	t.Helper()
	dir := publicDir(t)
	root := filepath.Join(dir, "root")
	mustRun(t, "sh", "testdata/debian.sh", root, "python3-grpcio,python3-protobuf,protobuf-compiler,protobuf-compiler-grpc")
	mustRun(t, "install", "-D", "-t", filepath.Join(root, "tmp/function"), "testdata/function.py")
	if err := os.WriteFile(filepath.Join(root, "tmp/function/descriptors"), descriptors(t), 0o644); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "chroot", root, "protoc", "--descriptor_set_in=/tmp/function/descriptors", "--python_out=/tmp/function", "--grpc_python_out=/tmp/function",
		"--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin", "run_function.proto")
	function := filepath.Join(dir, "function")
	mustRun(t, "mv", filepath.Join(root, "tmp/function"), function)
	layer := filepath.Join(dir, "layer.tar")
	mustRun(t, "tar", "-C", root, "--exclude=./var/cache", "--exclude=./var/lib/apt", "-cf", layer, ".")
	base := filepath.Join(dir, "base.tar")
	writePackage(t, base, layered(t, v1.Config{Env: []string{"LANG=C"}, User: "1000:1000"}, layer))
	file := filepath.Join(dir, "python.xpkg")
	writePackage(t, file, packaged(t, overBase(t, base, function)))
	return file
}

// overBase returns an image that consists of a base image and a directory with a Python
// function.
func overBase(t testing.TB, base, dir string) v1.Image {
	t.Helper()
	opts := runtimeimage.Options{TempDir: t.TempDir()}
	below, err := runtimeimage.FromTarball(t.Context(), base, opts)
	if err != nil {
		t.Fatal(err)
	}
	images, err := runtimeimage.FromDir(t.Context(), runtimeimage.Dir{
		Path: dir, Base: below, Entrypoint: []string{"python3", "function.py"}, Env: []string{"LANG=C.UTF-8"},
	}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := images.Close(); err != nil {
			t.Error(err)
		}
	})
	return images.All[0]
}

// descriptors returns the file descriptor set that protoc would write for
// run_function.proto and its imports. The file has a short name, because the generated
// code needs it.
func descriptors(t testing.TB) []byte {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	file := (&fnv1.RunFunctionRequest{}).ProtoReflect().Descriptor().ParentFile()
	imports := file.Imports()
	for i := range imports.Len() {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(imports.Get(i).FileDescriptor))
	}
	own := protodesc.ToFileDescriptorProto(file)
	own.Name = proto.String("run_function.proto")
	set.File = append(set.File, own)
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
