package xpkg_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/xpkg"
)

func at(path string) func(xpkg.Artifact) (string, error) {
	return func(xpkg.Artifact) (string, error) { return path, nil }
}

// Join of the files that Split writes returns the package.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	a := build(t, aPackage("Function", "fn"), "linux/arm64/v8", "linux/arm/v7", "linux/arm/v6", "windows/amd64:10.0.1")
	targets := e2e.Must(xpkg.Split(a, at(filepath.Join(dir, "hello.v1.xpkg"))))(t)
	e2e.NoError(t, xpkg.WriteFiles(t.Context(), targets, nil))
	var names []string
	var files []xpkg.Target
	for _, f := range targets {
		names = append(names, filepath.Base(f.Path))
		files = append(files, xpkg.Target{Path: f.Path, Artifact: e2e.Open(xpkg.Open(t.Context(), f.Path))(t).Artifact})
	}
	e2e.Equal(t, "the name of each file has its platform", []string{"hello.v1-linux-arm64-v8.xpkg", "hello.v1-linux-arm-v7.xpkg", "hello.v1-linux-arm-v6.xpkg", "hello.v1-windows-amd64-10.0.1.xpkg"}, names)
	joined := e2e.Must(xpkg.Join(t.Context(), files))(t)
	e2e.Equal(t, "the joined package is the one that was split", e2e.Must(a.Digest())(t), e2e.Must(joined.Digest())(t))
}

func TestSplitOfOne(t *testing.T) {
	targets, err := xpkg.Split(build(t, aPackage("Configuration", "c")), at("c"))
	if err != nil || len(targets) != 1 || targets[0].Path != "c-linux-amd64" {
		t.Errorf("got %v, %v", targets, err)
	}
}

// Split replaces unsafe characters of a platform in file names. Images without a
// platform, or with the same file name, are errors.
func TestSplitRefuses(t *testing.T) {
	e2e.Equal(t, "unsafe characters of a platform are replaced", "a-..-..-x-y-amd64.xpkg", e2e.Must(xpkg.Split(odd(t, "../../x y", "amd64"), at("a.xpkg")))(t)[0].Path)
	e2e.ErrorHas(t, "an image without a platform is an error", e2e.Err(xpkg.Split(odd(t, "", "amd64"), at("a.xpkg"))), "the image has no platform")
	a := e2e.Must(xpkg.Build(aPackage("Function", "fn"), []v1.Image{odd(t, "a-b", "c"), odd(t, "a", "b-c")}, xpkg.BuildOptions{}))(t)
	e2e.ErrorHas(t, "images with the same file name are an error", e2e.Err(xpkg.Split(a, at("a.xpkg"))), `two images would be the file "a-a-b-c.xpkg"`)
}

// odd returns an image with the platform os/arch, which may be invalid.
func odd(t *testing.T, os, arch string) v1.Image {
	t.Helper()
	return e2e.Must(oci.Assemble([]byte(`{"os":"`+os+`","architecture":"`+arch+`","rootfs":{"type":"layers","diff_ids":[]}}`), nil))(t)
}

// If one of the files cannot be written, WriteFiles writes no file.
func TestWriteFilesIsAllOrNothing(t *testing.T) {
	images := e2e.Must(xpkg.Images(build(t, aPackage("Function", "fn"), "linux/amd64", "linux/arm64", "linux/s390x")))(t)
	failed := errors.New("the disk is full")
	for broken := range images {
		dir := t.TempDir()
		old := filepath.Join(dir, "0.xpkg")
		e2e.WriteFile(t, old, "old")
		var targets []xpkg.Target
		for i, img := range images {
			target := xpkg.Target{Path: filepath.Join(dir, string(rune('0'+i))+".xpkg"), Artifact: img.Image}
			if i == broken {
				target.Artifact = failing{img.Image, failed}
			}
			targets = append(targets, target)
		}
		err := xpkg.WriteFiles(t.Context(), targets, nil)
		if !errors.Is(err, failed) || strings.Count(err.Error(), "writing package") != 1 || !strings.Contains(err.Error(), targets[broken].Path) {
			t.Errorf("got %v, want one error that names %s", err, targets[broken].Path)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || string([]byte(e2e.ReadFile(t, old))) != "old" {
			t.Errorf("got %v, %v, want only the old file", entries, err)
		}
	}
}

// failing is an image that fails when it is written.
type failing struct {
	v1.Image
	err error
}

func (u failing) RawManifest() ([]byte, error) { return nil, u.err }
