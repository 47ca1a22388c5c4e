package runtimeimage

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
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
func (s *spool) minimal(ctx context.Context, platforms []v1.Platform, created time.Time) ([]v1.Image, error) {
	files := []TarFile{
		NewTarFile("etc/group", 0o644, []byte(group)),
		NewTarFile("etc/passwd", 0o644, []byte(passwd)),
		NewTarFile(certificates, 0o644, roots()),
		{Path: "tmp/", Mode: 0o1777},
	}
	l, err := s.draft.Compress(func(w io.Writer) error { return WriteTar(ctx, w, files) })
	if err != nil {
		return nil, err
	}
	images := make([]v1.Image, len(platforms))
	for i, p := range platforms {
		images[i], err = ofOneLayer(l, created, v1.ConfigFile{
			OS: p.OS, Architecture: p.Architecture, Variant: p.Variant, OSVersion: p.OSVersion, OSFeatures: p.OSFeatures,
			Config: v1.Config{Env: []string{searchPath}, User: nonRoot, WorkingDir: "/"},
		})
		if err != nil {
			return nil, err
		}
	}
	return images, nil
}

func ofOneLayer(l archive.Layer, created time.Time, config v1.ConfigFile) (v1.Image, error) {
	config.History = []v1.History{{Created: timestamp(created)}}
	config.RootFS = v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{l.Blob.DiffID}}
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the config of an image: %w", err)
	}
	return oci.Assemble(raw, []v1.Descriptor{descriptor(l.Blob)}, l)
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
