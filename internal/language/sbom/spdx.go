package sbom

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/language"
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

// document is an SPDX document (SPDX specification 2.3). Fields are in the order of its
// examples.
type document struct {
	Version       string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	CreationInfo  creation       `json:"creationInfo"`
	Packages      []pkg          `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type pkg struct {
	ID               string     `json:"SPDXID"`
	Name             string     `json:"name"`
	Version          string     `json:"versionInfo,omitempty"`
	DownloadLocation string     `json:"downloadLocation"`
	FilesAnalyzed    bool       `json:"filesAnalyzed"`
	Checksums        []checksum `json:"checksums,omitempty"`
	LicenseConcluded string     `json:"licenseConcluded"`
	LicenseDeclared  string     `json:"licenseDeclared"`
	Copyright        string     `json:"copyrightText"`
	Comment          string     `json:"comment,omitempty"`
	ExternalRefs     []ref      `json:"externalRefs,omitempty"`
	Purpose          string     `json:"primaryPackagePurpose,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type ref struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const (
	documentID = "SPDXRef-DOCUMENT"
	subjectID  = "SPDXRef-Package"
	unknown    = "NOASSERTION"
)

// Write returns the SPDX document of a package that contains materials. The same arguments
// give the same bytes.
func Write(s Subject, materials []language.Material) ([]byte, error) {
	top := newPackage(subjectID, s.Name, s.Digest.String())
	top.Purpose = "CONTAINER"
	top.Checksums = checksums(s.Digest.String())
	d := document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: s.Name,
		Packages:      []pkg{top},
		Relationships: []relationship{{documentID, "DESCRIBES", subjectID}},
	}
	for i, m := range materials {
		p := newPackage(fmt.Sprintf("%s-%d", subjectID, i+1), m.Name, m.Version)
		if p.Checksums = checksums(m.Digest); p.Checksums == nil && m.Digest != "" {
			p.Comment = "digest in the lock file: " + m.Digest // The h1 of Go hashes a list of files.
		}
		if m.PURL != "" {
			p.ExternalRefs = []ref{{"PACKAGE-MANAGER", "purl", m.PURL}}
		}
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, relationship{subjectID, "CONTAINS", p.ID})
	}
	content, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encoding the SBOM: %w", err)
	}
	// The namespace must differ from that of any other document (SPDX 2.3, 6.5).
	d.Namespace = fmt.Sprintf("https://spdx.org/spdxdocs/%s-%s", s.Name, uuid.NewSHA1(uuid.NameSpaceURL, content))
	d.CreationInfo = creation{s.Created.UTC().Format(time.RFC3339), []string{"Tool: " + s.Tool}}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the SBOM: %w", err)
	}
	return append(text, '\n'), nil
}

func newPackage(id, name, version string) pkg {
	return pkg{
		ID: id, Name: name, Version: version, DownloadLocation: unknown,
		LicenseConcluded: unknown, LicenseDeclared: unknown, Copyright: unknown,
	}
}

// checksums returns the checksum for a digest "sha256:HEX" or "sha512-BASE64", or nil for
// other digests.
func checksums(digest string) []checksum {
	if value, ok := strings.CutPrefix(digest, "sha256:"); ok {
		return []checksum{{"SHA256", value}}
	}
	for prefix, algorithm := range map[string]string{"sha512-": "SHA512", "sha256-": "SHA256", "sha1-": "SHA1"} {
		if value, ok := strings.CutPrefix(digest, prefix); ok {
			if raw, err := base64.StdEncoding.DecodeString(value); err == nil {
				return []checksum{{algorithm, hex.EncodeToString(raw)}}
			}
		}
	}
	return nil
}
