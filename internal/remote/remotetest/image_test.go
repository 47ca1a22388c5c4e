package remotetest_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

var files = map[string][]byte{"b": []byte("content"), "a": nil}

func TestTar(t *testing.T) {
	content := e2e.Must(remotetest.Tar(files))(t)
	if !bytes.HasSuffix(content, make([]byte, 1024)) {
		t.Error("the tar has no end-of-archive marker")
	}
	var got strings.Builder
	for h, data := range e2e.Tar(t, bytes.NewReader(content)) {
		fmt.Fprintf(&got, "%s %o %q, ", h.Name, h.Mode, data)
	}
	e2e.Equal(t, "the tar has a directory and a file", `a 755 "", b 755 "content", `, got.String())
}

func TestImage(t *testing.T) {
	layer := e2e.Must(remotetest.Layer(files))(t)
	img := remotetest.Image(t, v1.Config{Entrypoint: []string{"/b"}}, layer)
	file := e2e.Must(img.ConfigFile())(t)
	if file.OS != "linux" || file.Architecture != runtime.GOARCH || len(file.Config.Entrypoint) != 1 || len(file.RootFS.DiffIDs) != 1 {
		t.Errorf("unexpected config %+v", file)
	}
	e2e.Equal(t, "the config has the digest of the layer's content", file.RootFS.DiffIDs[0], e2e.Must(layer.DiffID())(t))
}
