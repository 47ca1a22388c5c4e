package templates

import (
	"embed"
	"io/fs"
)

// Placeholder is the name that a bundled template goes by: its Go module, its
// package metadata and its examples are called so, until whoever copies it
// puts the name of the new package in every place.
const Placeholder = "function-example"

// go.mod and go.sum carry a ".tmpl" more than they should: Go embeds no folder
// that is a module of its own.
//
//go:embed all:_go
var goFunction embed.FS

// A Template is one entry of the catalogue. It has either a URL or Files.
type Template struct {
	// Name is what the user calls it by.
	Name string
	// URL is that of its git repository.
	URL string
	// Files are those of a bundled template, nil for one in a repository.
	// Placeholder stands where the package's name belongs, and a name that
	// ends in ".tmpl" is the file's name and that ending.
	Files fs.FS
}

// Lookup returns the template called name, and whether there is one.
func Lookup(name string) (Template, bool) {
	for _, t := range catalogue() {
		if t.Name == name {
			return t, true
		}
	}
	return Template{}, false
}

// Names returns the names of all templates: the bundled ones, then those in a
// repository.
func Names() []string {
	all := catalogue()
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return names
}

func catalogue() []Template {
	return []Template{
		{Name: "go", Files: folder(goFunction, "_go")},
		{Name: "function-template-go", URL: "https://github.com/crossplane/function-template-go"},
		{Name: "function-template-python", URL: "https://github.com/crossplane/function-template-python"},
		{Name: "configuration-template", URL: "https://github.com/crossplane/configuration-template"},
		{Name: "provider-template", URL: "https://github.com/crossplane/provider-template"},
		{Name: "provider-template-upjet", URL: "https://github.com/crossplane/upjet-provider-template"},
	}
}

// folder is fs.Sub for a name that is known to be one.
func folder(files embed.FS, name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic("templates: " + err.Error())
	}
	return sub
}
