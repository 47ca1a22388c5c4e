package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

// repository is the home page and source of the program.
const repository = "https://github.com/xfn-dev/xfn"

const summary = "Build, render, test and push Crossplane composition functions"

// packageFor returns the deb or rpm package of a program.
func packageFor(format, arch string, s Source, binary file, common []file) ([]byte, error) {
	dir, err := os.MkdirTemp("", "xfn-package-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	info := &nfpm.Info{
		Name: "xfn", Arch: arch, Platform: "linux", Version: s.Version, Release: "1", MTime: s.Time,
		Section: "utils", Priority: "optional", Maintainer: "The xfn authors <xfn@users.noreply.github.com>",
		Description: summary, Homepage: repository, License: "Apache-2.0", DisableGlobbing: true,
	}
	info.RPM.BuildHost = "localhost"
	for i, f := range append([]file{binary}, common...) {
		path := filepath.Join(dir, fmt.Sprint(i))
		if strings.HasPrefix(f.name, "man/") {
			if f.data, err = compressed(f.data); err != nil {
				return nil, err
			}
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return nil, err
		}
		info.Contents = append(info.Contents, &files.Content{
			Source: path, Destination: installed(f.name, format),
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: os.FileMode(f.mode()), MTime: s.Time},
		})
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return nil, err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = packager.Package(info, &b)
	return b.Bytes(), err
}

// installed returns where a package installs a file of the archive.
func installed(name, format string) string {
	zsh := "/usr/share/zsh/site-functions/"
	if format == "deb" {
		zsh = "/usr/share/zsh/vendor-completions/"
	}
	switch dir, base := filepath.Split(name); {
	case name == "xfn":
		return "/usr/bin/xfn"
	case dir == "man/":
		return "/usr/share/man/man1/" + base + ".gz"
	case base == "xfn.bash":
		return "/usr/share/bash-completion/completions/xfn"
	case base == "_xfn":
		return zsh + base
	case base == "xfn.fish":
		return "/usr/share/fish/vendor_completions.d/" + base
	case name == "LICENSE" && format == "deb":
		return "/usr/share/doc/xfn/copyright"
	case name == "LICENSE":
		return "/usr/share/licenses/xfn/LICENSE"
	default:
		return "/usr/share/doc/xfn/" + base
	}
}

// compressed returns data compressed with gzip, without a name or time.
func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
