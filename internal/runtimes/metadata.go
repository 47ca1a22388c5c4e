package runtimes

import (
	"io"
	"io/fs"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// maxMetadata limits the bytes that are read of a file.
const maxMetadata = 16 << 20

// Metadata has what a package says about its function.
type Metadata struct {
	// Kind and Name are the kind and name in the package metadata.
	Kind, Name string
	// Capabilities is spec.capabilities of the package metadata.
	Capabilities []string
	// Inputs are the CRDs of the function's inputs.
	Inputs []map[string]any
}

// UnpackedMetadata returns the metadata of a function's image that is unpacked in dir. Files
// that cannot be read are ignored, because the function runs anyway.
func UnpackedMetadata(dir string) Metadata { return metadata(dir, "package.yaml") }

// SourceMetadata returns the metadata of the package in a folder with a function's source, as
// UnpackedMetadata does.
func SourceMetadata(dir string) Metadata {
	return metadata(dir, "package/crossplane.yaml", "package-function/crossplane.yaml", "crossplane.yaml",
		"package/input/*.yaml", "package/input/*.yml", "package-function/input/*.yaml", "package-function/input/*.yml")
}

// metadata reads the files in dir that match the patterns. The first package metadata counts.
func metadata(dir string, patterns ...string) Metadata {
	var m Metadata
	root, err := os.OpenRoot(dir)
	if err != nil {
		return m
	}
	defer func() { _ = root.Close() }()
	found := false
	for _, pattern := range patterns {
		paths, err := fs.Glob(root.FS(), pattern)
		if err != nil {
			continue
		}
		for _, path := range paths {
			if info, err := root.Lstat(path); err != nil || !info.Mode().IsRegular() {
				continue
			}
			for _, obj := range objects(root, path) {
				switch isMeta := lock.IsMetadata(obj); {
				case isMeta && !found:
					found = true
					m.Kind, m.Name = fieldpath.Text(obj, "kind"), fieldpath.Text(obj, "metadata", "name")
					m.Capabilities, _, _ = unstructured.NestedStringSlice(obj, "spec", "capabilities")
				case !isMeta && crd.Defines(obj):
					m.Inputs = append(m.Inputs, obj)
				}
			}
		}
	}
	return m
}

// objects returns the objects in a file that can be decoded.
func objects(root *os.Root, path string) []map[string]any {
	f, err := root.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxMetadata))
	if err != nil {
		return nil
	}
	docs, err := manifest.Split(path, text)
	if err != nil {
		return nil
	}
	var all []map[string]any
	for _, doc := range docs {
		if obj, err := doc.Object(); err == nil {
			all = append(all, obj)
		}
	}
	return all
}
