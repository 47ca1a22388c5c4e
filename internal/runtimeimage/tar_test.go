package runtimeimage_test

import (
	"io"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

func TestWriteTarChanged(t *testing.T) {
	for content, reason := range map[string]string{"ab": "a file that became shorter", "abcd": "a file that became longer"} {
		f := runtimeimage.TarFile{Path: "app/file", Mode: 0o644, Size: 3, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
		e2e.ErrorHas(t, reason, runtimeimage.WriteTar(t.Context(), io.Discard, []runtimeimage.TarFile{f}), `adding "/app/file": the size of the file changed while it was read`)
	}
}
