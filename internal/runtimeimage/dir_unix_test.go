//go:build unix

package runtimeimage_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// FromDir returns an error for a file that is neither regular, a directory nor a symbolic
// link. To read such a file could block forever.
func TestFromDirSpecialFiles(t *testing.T) {
	cases := map[string]func(path string) error{
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"socket": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		},
	}
	for kind, make := range cases {
		t.Run(kind, func(t *testing.T) {
			dir := e2e.ShortDir(t)
			e2e.NoError(t, make(filepath.Join(dir, "s")))
			assertRefused(t, runtimeimage.Dir{Path: dir, Base: scratch(t, amd64), Entrypoint: python}, "a special file is an error", `file "s" is a `+kind)
		})
	}
}

// FromDir returns an error for an unreadable file. It does not omit the file.
func TestFromDirUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read all files")
	}
	dir := files(t, map[string]string{"a": "", "secret": ""})
	e2e.NoError(t, os.Chmod(filepath.Join(dir, "secret"), 0))
	assertRefused(t, runtimeimage.Dir{Path: dir, Base: scratch(t, amd64), Entrypoint: python}, "an unreadable file is an error", `reading "secret": permission denied`)
}

// FromTarball reads a pipe until the end: otherwise the program that writes to it would fail.
func TestFromTarballPipe(t *testing.T) {
	path := writeArchive(t, plainImage(t, "amd64"))
	images, err := runtimeimage.FromTarball(t.Context(), path, options(t))
	want := digestsOf(t, images, err)
	pipe, written := filepath.Join(t.TempDir(), "pipe"), make(chan error, 1)
	e2e.NoError(t, syscall.Mkfifo(pipe, 0o600))
	padded := e2e.ReadFile(t, path) + strings.Repeat("\x00", 1<<20)
	go func() { written <- os.WriteFile(pipe, []byte(padded), 0o600) }()
	images, err = runtimeimage.FromTarball(t.Context(), pipe, options(t))
	e2e.Equal(t, "the pipe has the image of the file", want, digestsOf(t, images, err))
	e2e.NoError(t, <-written)
}
