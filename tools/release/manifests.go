package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed manifests
var manifestTemplates embed.FS

// writeManifests writes the manifests of Homebrew, Scoop, winget and krew for the platforms of
// the release. Manifests of a snapshot show only the form; their URLs do not exist.
func (r *release) writeManifests() error {
	return fs.WalkDir(manifestTemplates, "manifests", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		t, err := template.ParseFS(manifestTemplates, path)
		if err != nil {
			return fmt.Errorf("reading %q: %w", path, err)
		}
		var b bytes.Buffer
		if err := t.Execute(&b, r); err != nil {
			return fmt.Errorf("writing %q: %w", path, err)
		}
		return writeFile(filepath.Join(r.dir, filepath.FromSlash(strings.TrimSuffix(path, ".tmpl"))), b.Bytes())
	})
}

// Repository returns the URL of the repository.
func (*release) Repository() string { return repository }

// Summary returns a sentence about the program.
func (*release) Summary() string { return summary }

// URL returns the address of an asset in the release.
func (r *release) URL(name string) string {
	return repository + "/releases/download/" + r.Tag + "/" + name
}

// Systems returns the operating systems of Homebrew for which there are archives.
func (r *release) Systems() (all []string) {
	for _, goos := range []string{"darwin", "linux"} {
		if len(r.Archives(goos)) > 0 {
			all = append(all, goos)
		}
	}
	return all
}

// Date returns the day of the commit.
func (r *release) Date() string { return r.Time.Format("2006-01-02") }

// Archives returns the archives for an operating system, or all if goos is "".
func (r *release) Archives(goos string) (all []asset) {
	for _, a := range r.Assets {
		if (goos == "" || a.OS == goos) && (strings.HasSuffix(a.Name, ".tar.gz") || strings.HasSuffix(a.Name, ".zip")) {
			all = append(all, a)
		}
	}
	return all
}
