package local

import (
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// maxMetadata limits the bytes that Capabilities reads of a file.
const maxMetadata = 16 << 20

// Capabilities returns spec.capabilities of the package metadata in the first of the files in
// dir that exists. It returns nil if there is none, or if the file cannot be read, because the
// function runs all the same.
func Capabilities(dir string, files ...string) []string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	for _, path := range files {
		if info, err := root.Lstat(path); err == nil && info.Mode().IsRegular() {
			return capabilities(root, path)
		}
	}
	return nil
}

func capabilities(root *os.Root, path string) []string {
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
	for _, doc := range docs {
		obj, err := doc.Object()
		if apiVersion, _ := obj["apiVersion"].(string); err == nil && strings.HasPrefix(apiVersion, "meta.pkg.crossplane.io/") {
			all, _, _ := unstructured.NestedStringSlice(obj, "spec", "capabilities")
			return all
		}
	}
	return nil
}
