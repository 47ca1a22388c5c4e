package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/language/sbom/spdx"
)

// sbom returns the SPDX document of a Go program: the program, the modules in its build
// information, and the standard library.
func sbom(program []byte, s Source, goos, arch string) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("reading the build information: %w", err)
	}
	main := golang(info.Main.Path, s.Tag)
	main.Name, main.LicenseDeclared = "xfn", "Apache-2.0"
	main.Checksums = []spdx.Checksum{{Algorithm: "SHA256", Value: digest(program)}}
	parts := []spdx.Package{golang("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, golang(m.Path, m.Version))
	}
	return spdx.Write(fmt.Sprintf("xfn-%s-%s-%s", s.Version, goos, arch), "xfn-release", s.Time, main, parts)
}

// golang returns the package of a Go module.
func golang(path, version string) spdx.Package {
	return spdx.NewPackage(path, version, "pkg:golang/"+path+"@"+strings.ReplaceAll(version, "+", "%2B"))
}
