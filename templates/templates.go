package templates

import (
	"embed"
	"io/fs"
)

// Placeholder is the name of the package in a bundled template: in its Go
// module, package metadata and examples. A copy of the template replaces it.
const Placeholder = "function-example"

// The names of go.mod and go.sum end in ".tmpl", since Go cannot embed a folder
// that is a module of its own.
//
//go:embed all:_go all:_go-minimal all:_go-templating all:_kcl all:_python all:_typescript
var bundled embed.FS

// A Template is a package template. It has either a URL or Files.
type Template struct {
	// Name is the short name of the template.
	Name string
	// URL is the URL of the template's git repository.
	URL string
	// Files are the files of a bundled template. Placeholder stands for the package's name
	// in paths and texts, and the ending ".tmpl" is to be removed from names.
	Files fs.FS
}

// Lookup returns the template with a short name, and whether it exists.
func Lookup(name string) (Template, bool) {
	for _, t := range catalogue() {
		if t.Name == name {
			return t, true
		}
	}
	return Template{}, false
}

// Names returns the short names of all templates, bundled templates first.
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
		{Name: "go", Files: folder("_go")},
		{Name: "go-minimal", Files: folder("_go-minimal")},
		{Name: "go-templating", Files: folder("_go-templating")},
		{Name: "kcl", Files: folder("_kcl")},
		{Name: "python", Files: folder("_python")},
		{Name: "typescript", Files: folder("_typescript")},
		{Name: "function-template-go", URL: "https://github.com/crossplane/function-template-go"},
		{Name: "function-template-python", URL: "https://github.com/crossplane/function-template-python"},
		{Name: "configuration-template", URL: "https://github.com/crossplane/configuration-template"},
		{Name: "provider-template", URL: "https://github.com/crossplane/provider-template"},
		{Name: "provider-template-upjet", URL: "https://github.com/crossplane/upjet-provider-template"},
	}
}

// folder returns a bundled folder. Its name is a constant, so that fs.Sub cannot fail.
func folder(name string) fs.FS {
	sub, err := fs.Sub(bundled, name)
	if err != nil {
		panic("templates: " + err.Error())
	}
	return sub
}
