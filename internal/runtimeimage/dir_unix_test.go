//go:build unix

package runtimeimage_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// What is neither file, directory nor link has no content that an image holds;
// reading it may never end.
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
			dir, err := os.MkdirTemp("", "dir") // short, as the names of sockets are
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			if err := make(filepath.Join(dir, "s")); err != nil {
				t.Fatal(err)
			}
			assertRefused(t, runtimeimage.Dir{Path: dir, Base: scratch(t, amd64), Entrypoint: python}, "it has no end", `its "s" is a `+kind)
		})
	}
}

// A file that cannot be read is not left out.
func TestFromDirUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read all")
	}
	dir := files(t, map[string]string{"a": "", "secret": ""})
	if err := os.Chmod(filepath.Join(dir, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	assertRefused(t, runtimeimage.Dir{Path: dir, Base: scratch(t, amd64), Entrypoint: python}, "it would be missed", `its "secret": permission denied`)
}
