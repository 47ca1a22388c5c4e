package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// A document is an SPDX 2.3 document (spdx.github.io/spdx-spec/v2.3).
type document struct {
	SPDXVersion   string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	SPDXID        string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	SPDXID    string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Version   string     `json:"versionInfo,omitempty"`
	Location  string     `json:"downloadLocation"`
	Analyzed  bool       `json:"filesAnalyzed"`
	License   string     `json:"licenseDeclared"`
	Concluded string     `json:"licenseConcluded"`
	Copyright string     `json:"copyrightText"`
	Checksums []checksum `json:"checksums,omitempty"`
	Refs      []ref      `json:"externalRefs,omitempty"`
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

// sbom returns the SPDX document of a Go program: the program, the modules in its build
// information, and the standard library.
func sbom(program []byte, s Source, goos, arch string) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("reading the build information: %w", err)
	}
	sum, name := digest(program), fmt.Sprintf("xfn-%s-%s-%s", s.Version, goos, arch)
	d := document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: repository + "/sbom/" + name + "-" + sum,
		Creation:  creation{s.Time.Format(time.RFC3339), []string{"Tool: xfn-release"}},
	}
	main := golang("SPDXRef-xfn", info.Main.Path, s.Tag)
	main.Name, main.License, main.Checksums = "xfn", "Apache-2.0", []checksum{{"SHA256", sum}}
	d.Packages = append(d.Packages, main, golang("SPDXRef-stdlib", "stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for i, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.Packages = append(d.Packages, golang(fmt.Sprintf("SPDXRef-module-%d", i+1), m.Path, m.Version))
	}
	d.Relationships = append(d.Relationships, relationship{d.SPDXID, "DESCRIBES", main.SPDXID})
	for _, p := range d.Packages[1:] {
		d.Relationships = append(d.Relationships, relationship{main.SPDXID, "CONTAINS", p.SPDXID})
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}

// golang returns the package of a Go module.
func golang(id, path, version string) spdxPackage {
	const unknown = "NOASSERTION"
	return spdxPackage{
		SPDXID: id, Name: path, Version: version, Location: unknown, License: unknown, Concluded: unknown, Copyright: unknown,
		Refs: []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")}},
	}
}
