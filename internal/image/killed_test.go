package image_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// fileChild pulls a file, and prints a line after 2 MiB.
func fileChild(args string) error {
	path, reference, _ := strings.Cut(args, " ")
	ref, err := remote.ParseReference(reference, "")
	if err != nil {
		return err
	}
	o := quick()
	o.Progress = func(e progress.Event) {
		if e.Done > 2<<20 {
			fmt.Println("moved")
		}
	}
	_, err = image.File(context.Background(), ref, path, o)
	return err
}

// A killed process keeps the old file, and the next pull resumes its download.
func TestKilled(t *testing.T) {
	needsKeeping(t)
	pkg, inner := newLarge(t), remotetest.Handler()
	e2e.NoError(t, ggcr.Write(parse(t, remotetest.Serve(t, inner)), pkg.image))
	layers := e2e.Must(pkg.image.Layers())(t)
	last := digestOf(t, layers[len(layers)-1]).String()
	stall := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	stalling := parse(t, remotetest.Serve(t, remotetest.Faults(inner, 99, last, stall)))
	path := filepath.Join(t.TempDir(), "p.xpkg")
	e2e.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	c, line := e2e.Start(t, childEnv+"=file "+path+" "+stalling.Name())
	if line != "moved" {
		t.Fatalf("the child printed %q", line)
	}
	c.Kill(t)
	holds(t, path, []byte("old"))
	counted := &asked{Handler: inner}
	e2e.Must(image.File(t.Context(), parse(t, remotetest.Serve(t, counted)), path, image.Options{}))(t)
	holds(t, path, pkg.bytes)
	if most := int64(len(pkg.bytes)) - 2<<20 + 4<<10; counted.bytes > most {
		t.Errorf("%d bytes were fetched, want at most %d", counted.bytes, most)
	}
	e2e.Equal(t, "the pull leaves only the package in the directory", 1, len(e2e.Must(os.ReadDir(filepath.Dir(path)))(t)))
}
