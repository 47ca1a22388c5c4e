package xpkg_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/xpkg"
)

// This example writes the package in a directory to a file and opens that file.
func Example() {
	ctx := context.Background()
	fsys := afero.NewMemMapFs()
	crossplane := "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: platform\n"
	if err := afero.WriteFile(fsys, "package/crossplane.yaml", []byte(crossplane), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	pkg, err := xpkg.Read(ctx, fsys, "package", xpkg.ReadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	built, err := xpkg.Build(pkg, nil, xpkg.BuildOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "platform.xpkg")
	if err := xpkg.WriteFile(ctx, path, built, nil); err != nil {
		fmt.Println(err)
		return
	}
	file, err := xpkg.Open(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	images, err := xpkg.Images(file.Artifact)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, i := range images {
		meta, err := xpkg.Metadata(ctx, i.Image)
		fmt.Println(i.Platform, meta.Kind, meta.Name, err)
	}
	// Output: linux/amd64 Configuration platform <nil>
}

// An error names the file and the line of each problem.
func ExampleRead() {
	fsys := afero.NewMemMapFs()
	crossplane := "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: platform\nspec:\n  crosplane: {}\n"
	if err := afero.WriteFile(fsys, "package/crossplane.yaml", []byte(crossplane), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	_, err := xpkg.Read(context.Background(), fsys, "package", xpkg.ReadOptions{Lint: xpkg.Strict})
	if problems, ok := errors.AsType[xpkg.Problems](err); ok {
		for _, p := range problems {
			fmt.Println(p.Path, p.Line, p.Rule)
		}
	}
	// Output: package/crossplane.yaml 6 unknown-field
}

// Read also returns the problems that a Rule finds.
func ExampleRule() {
	fsys := afero.NewMemMapFs()
	files := map[string]string{
		"crossplane.yaml":  "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: platform\n",
		"composition.yaml": "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata:\n  name: draft-buckets\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: XBucket}\n  mode: Pipeline\n  pipeline: [{step: a, functionRef: {name: f}}]\n",
	}
	for name, text := range files {
		if err := afero.WriteFile(fsys, filepath.Join("package", name), []byte(text), 0o644); err != nil {
			fmt.Println(err)
			return
		}
	}
	noDrafts := func(_ context.Context, objects []xpkg.Document) (found xpkg.Problems) {
		for _, o := range objects {
			if strings.HasPrefix(o.Name, "draft-") {
				found = append(found, xpkg.Problem{Rule: "no-drafts", Path: o.Path, Line: o.Line, Text: "it is a draft"})
			}
		}
		return found
	}
	pkg, err := xpkg.Read(context.Background(), fsys, "package", xpkg.ReadOptions{Lint: xpkg.Warn, Rules: []xpkg.Rule{noDrafts}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range pkg.Warnings {
		fmt.Println(p.Err())
	}
	// Output: package/composition.yaml:1: it is a draft
}
