package sbom

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/sbom/spdx"
)

// A Subject is the package that a document is about.
type Subject struct {
	Name   string
	Digest v1.Hash
	// Tool is the program that created the document, such as "xfn-v0.1.0".
	Tool string
	// Created is the time of creation. It does not change the document's namespace.
	Created time.Time
}

// Write returns the SPDX document of a package that contains materials. The same arguments
// give the same bytes.
func Write(s Subject, materials []language.Material) ([]byte, error) {
	top := spdx.NewPackage(s.Name, s.Digest.String(), "")
	top.Purpose = "CONTAINER"
	top.Checksums = checksums(s.Digest.String())
	var parts []spdx.Package
	for _, m := range materials {
		p := spdx.NewPackage(m.Name, m.Version, m.PURL)
		if p.Checksums = checksums(m.Digest); p.Checksums == nil && m.Digest != "" {
			p.Comment = "digest in the lock file: " + m.Digest // The h1 of Go hashes a list of files.
		}
		parts = append(parts, p)
	}
	return spdx.Write(s.Name, s.Tool, s.Created, top, parts)
}

// checksums returns the checksum for a digest "sha256:HEX" or "sha512-BASE64", or nil for
// other digests.
func checksums(digest string) []spdx.Checksum {
	if value, ok := strings.CutPrefix(digest, "sha256:"); ok {
		return []spdx.Checksum{{Algorithm: "SHA256", Value: value}}
	}
	for prefix, algorithm := range map[string]string{"sha512-": "SHA512", "sha256-": "SHA256", "sha1-": "SHA1"} {
		if value, ok := strings.CutPrefix(digest, prefix); ok {
			if raw, err := base64.StdEncoding.DecodeString(value); err == nil {
				return []spdx.Checksum{{Algorithm: algorithm, Value: hex.EncodeToString(raw)}}
			}
		}
	}
	return nil
}
