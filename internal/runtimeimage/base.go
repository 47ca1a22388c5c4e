package runtimeimage

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	nonRoot = "65532"

	passwd = "root:x:0:0:root:/root:/sbin/nologin\n" +
		"nonroot:x:" + nonRoot + ":" + nonRoot + ":nonroot:/:/sbin/nologin\n"
	group = "root:x:0:\nnonroot:x:" + nonRoot + ":\n"

	// certificates is where Go programs, and most others, look first.
	certificates = "etc/ssl/certs/ca-certificates.crt"
)

// A file is an entry of a layer. One that ends in "/" is a directory.
type file struct {
	name string
	mode int64
	data []byte
}

// baseFiles are what a static program needs besides itself.
func baseFiles() []file {
	return []file{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, []byte(group)},
		{"etc/passwd", 0o644, []byte(passwd)},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{certificates, 0o644, roots()},
		{"tmp/", 0o1777, nil},
	}
}

// roots returns the root certificates of Mozilla's trust store in PEM, as a Go
// module has them and not as this machine does. Roots that are trusted with
// conditions are left out, since PEM has no way to say so.
func roots() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			all.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return all.Bytes()
}

// writeTar writes files that belong to root, without times.
func writeTar(w io.Writer, files []file) error {
	tw := tar.NewWriter(w)
	for _, f := range files {
		if err := tw.WriteHeader(header(f.name, f.mode, int64(len(f.data)))); err != nil {
			return fmt.Errorf("adding %s: %w", f.name, err)
		}
		if _, err := tw.Write(f.data); err != nil {
			return fmt.Errorf("adding %s: %w", f.name, err)
		}
	}
	return tw.Close()
}

// header returns a header that is USTAR, or PAX for a file of 8 GiB and more.
func header(name string, mode, size int64) *tar.Header {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size}
	if name[len(name)-1] == '/' {
		h.Typeflag = tar.TypeDir
	}
	return h
}
