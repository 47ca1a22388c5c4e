package runtimeimage_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// arm is the start of a program for arm64.
var arm = "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xb7\x00" + strings.Repeat("\x00", 12)

func tarOf(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	tw := tar.NewWriter(z)
	for _, h := range headers {
		text := ""
		if h.Typeflag == tar.TypeReg {
			text = arm
		}
		h.Size, h.Mode = int64(len(text)), 0o755
		e2e.NoError(t, tw.WriteHeader(&h))
		e2e.Must(io.WriteString(tw, text))(t)
	}
	e2e.NoError(t, errors.Join(tw.Close(), z.Close()))
	file := filepath.Join(t.TempDir(), "root.tar.gz")
	e2e.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

func TestFromRoot(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{"usr/bin", "proc/1", "etc"} {
		e2e.NoError(t, os.MkdirAll(filepath.Join(dir, at), 0o755))
	}
	for name, text := range map[string]string{"usr/bin/python3.13": arm, "proc/1/status": "x", "etc/passwd": "root"} {
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	e2e.NoError(t, os.Symlink("/etc/../../../passwd", filepath.Join(dir, "usr/bin/link")))
	file := tarOf(
		t, tar.Header{Typeflag: tar.TypeDir, Name: "./"}, tar.Header{Typeflag: tar.TypeDir, Name: "./etc/"}, tar.Header{Typeflag: tar.TypeChar, Name: "./dev/null"},
		tar.Header{Typeflag: tar.TypeReg, Name: "./usr/bin/python3.13", Uid: 7}, tar.Header{Typeflag: tar.TypeSymlink, Name: "./usr/bin/link", Linkname: "../../../../etc/shadow"},
		tar.Header{Typeflag: tar.TypeLink, Name: "./usr/bin/hard", Linkname: "./usr/bin/python3.13"}, tar.Header{Typeflag: tar.TypeFifo, Name: "./run/pipe"},
	)
	for path, want := range map[string][]string{
		dir:  {"etc/", "etc/passwd", "proc/", "usr/", "usr/bin/", "usr/bin/link /etc/../../../passwd", "usr/bin/python3.13"},
		file: {"etc/", "usr/bin/python3.13", "usr/bin/link ../../../../etc/shadow", "usr/bin/hard usr/bin/python3.13"},
	} {
		if !runtimeimage.IsRoot(path) {
			t.Errorf("%s is a root file system", path)
		}
		images := e2e.Must(runtimeimage.FromRoot(t.Context(), path, options(t)))(t)
		defer images.Close()
		e2e.Equal(t, path+" has the platform of its programs", "arm64", e2e.Must(images.All[0].ConfigFile())(t).Architecture)
		r := e2e.Must(e2e.Must(images.All[0].Layers())(t)[0].Uncompressed())(t)
		var got []string
		for h := range e2e.Tar(t, r) {
			got = append(got, strings.TrimSpace(h.Name+" "+h.Linkname))
			if h.ModTime.Unix() != 0 || h.Uname != "" || path == file && h.Typeflag == tar.TypeReg && h.Uid != 7 {
				t.Errorf("%s has the wrong time or owner: %+v", h.Name, h)
			}
		}
		e2e.Equal(t, path+": entries", want, got)
	}
}

func TestFromRootRefuses(t *testing.T) {
	program := tar.Header{Typeflag: tar.TypeReg, Name: "usr/bin/true"}
	cases := map[string]struct {
		reason string
		entry  tar.Header
		want   string
	}{
		"Outside":   {"an entry must be in the root", tar.Header{Typeflag: tar.TypeReg, Name: "usr/../../etc/passwd"}, "outside of the root"},
		"HardLink":  {"a hard link must lead to a file in the root", tar.Header{Typeflag: tar.TypeLink, Name: "usr/a", Linkname: "../../etc/passwd"}, "outside of the root"},
		"Whiteout":  {"a file must not mark another one as deleted", tar.Header{Typeflag: tar.TypeReg, Name: "usr/.wh.a"}, "would mark another file as deleted"},
		"NoProgram": {"the processor must be known", tar.Header{Typeflag: tar.TypeDir, Name: "usr/"}, "its processor is not known"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			headers := []tar.Header{program, tc.entry}
			if name == "NoProgram" {
				headers = headers[1:]
			}
			e2e.ErrorHas(t, tc.reason, e2e.Err(runtimeimage.FromRoot(t.Context(), tarOf(t, headers...), options(t))), tc.want)
		})
	}
}
