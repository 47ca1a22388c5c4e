package spdx

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// document is an SPDX document (SPDX specification 2.3). Fields are in the order of its
// examples.
type document struct {
	Version       string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	CreationInfo  creation       `json:"creationInfo"`
	Packages      []Package      `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// A Package is a package of a document. Use NewPackage, which sets the required fields.
type Package struct {
	ID               string     `json:"SPDXID"` // set by Write
	Name             string     `json:"name"`
	Version          string     `json:"versionInfo,omitempty"`
	DownloadLocation string     `json:"downloadLocation"`
	FilesAnalyzed    bool       `json:"filesAnalyzed"`
	Checksums        []Checksum `json:"checksums,omitempty"`
	LicenseConcluded string     `json:"licenseConcluded"`
	LicenseDeclared  string     `json:"licenseDeclared"`
	Copyright        string     `json:"copyrightText"`
	Comment          string     `json:"comment,omitempty"`
	ExternalRefs     []ref      `json:"externalRefs,omitempty"`
	Purpose          string     `json:"primaryPackagePurpose,omitempty"`
}

// A Checksum is the checksum of a package: an algorithm such as SHA256, and hexadecimal digits.
type Checksum struct {
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
	topID      = "SPDXRef-Package"
	unknown    = "NOASSERTION"
)

// NewPackage returns a package with an unknown license and an unknown origin. version and purl,
// its package URL, may be "".
func NewPackage(name, version, purl string) Package {
	p := Package{
		Name: name, Version: version, DownloadLocation: unknown,
		LicenseConcluded: unknown, LicenseDeclared: unknown, Copyright: unknown,
	}
	if purl != "" {
		p.ExternalRefs = []ref{{"PACKAGE-MANAGER", "purl", purl}}
	}
	return p
}

// Write returns the document of a package that contains parts. tool is the program that creates
// it, such as "xfn-v0.1.0". The same arguments give the same bytes. The time of creation does not
// change the document's namespace.
func Write(name, tool string, created time.Time, top Package, parts []Package) ([]byte, error) {
	top.ID = topID
	d := document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: name,
		Packages:      []Package{top},
		Relationships: []relationship{{documentID, "DESCRIBES", topID}},
	}
	for i, p := range parts {
		p.ID = fmt.Sprintf("%s-%d", topID, i+1)
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, relationship{topID, "CONTAINS", p.ID})
	}
	content, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encoding the SBOM: %w", err)
	}
	// The namespace must differ from the namespace of any other document (SPDX 2.3, 6.5).
	d.Namespace = fmt.Sprintf("https://spdx.org/spdxdocs/%s-%s", name, uuid.NewSHA1(uuid.NameSpaceURL, content))
	d.CreationInfo = creation{created.UTC().Format(time.RFC3339), []string{"Tool: " + tool}}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the SBOM: %w", err)
	}
	return append(text, '\n'), nil
}
