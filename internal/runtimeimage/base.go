package runtimeimage

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/xfn-dev/xfn/internal/oci"
)

const (
	nonRoot = "65532"

	passwd = "root:x:0:0:root:/root:/sbin/nologin\n" +
		"nonroot:x:" + nonRoot + ":" + nonRoot + ":nonroot:/:/sbin/nologin\n"
	group = "root:x:0:\nnonroot:x:" + nonRoot + ":\n"

	searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

	// certificates is the path where Go and most other programs first look for root
	// certificates.
	certificates = "etc/ssl/certs/ca-certificates.crt"
)

// minimal returns one base image for each platform. It contains only the files that a
// static program needs.
func (s *spool) minimal(platforms []v1.Platform, created time.Time) ([]v1.Image, error) {
	l, err := s.draft.Compress(func(w io.Writer) error { return writeTar(w, baseFiles()) })
	if err != nil {
		return nil, err
	}
	images := make([]v1.Image, len(platforms))
	for i, p := range platforms {
		raw, err := json.Marshal(v1.ConfigFile{
			OS: p.OS, Architecture: p.Architecture, Variant: p.Variant, OSVersion: p.OSVersion, OSFeatures: p.OSFeatures,
			Config:  v1.Config{Env: []string{searchPath}, User: nonRoot, WorkingDir: "/"},
			History: []v1.History{{Created: timestamp(created)}},
			RootFS:  v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{l.Blob.DiffID}},
		})
		if err != nil {
			return nil, fmt.Errorf("encoding the config of an image: %w", err)
		}
		if images[i], err = oci.Assemble(raw, []v1.Descriptor{descriptor(l.Blob)}, l); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// A file is a file in a layer or, if its name ends in "/", a directory.
type file struct {
	name string
	mode int64
	data []byte
}

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

// roots returns the root certificates of Mozilla's trust store in PEM, from the Go module
// golang.org/x/crypto/x509roots. Certificates with constraints are omitted, because PEM
// cannot express constraints.
func roots() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			all.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return all.Bytes()
}

// writeTar writes a tar with these files. Root owns all of them, and their modification
// time is zero.
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

// header returns the tar header of a file, or of a directory if name ends in "/". The
// format is USTAR, or PAX if size is 8 GiB or more.
func header(name string, mode, size int64) *tar.Header {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size}
	if name[len(name)-1] == '/' {
		h.Typeflag = tar.TypeDir
	}
	return h
}
