package templates_test

import (
	"fmt"
	"io/fs"

	"github.com/xfn-dev/xfn/templates"
)

func ExampleLookup() {
	python, ok := templates.Lookup("function-template-python")
	fmt.Println(python.URL, ok)

	bundled, ok := templates.Lookup("go")
	text, err := fs.ReadFile(bundled.Files, "main.go")
	fmt.Println(len(text) > 0, ok, err)
	// Output:
	// https://github.com/crossplane/function-template-python true
	// true true <nil>
}

func ExampleNames() {
	fmt.Println(templates.Names()[0])
	// Output: go
}
