package xpkg_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/xpkg"
)

// A directory becomes a file, and the file a package again.
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
