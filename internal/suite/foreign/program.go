package foreign

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// programs are the languages of programs that print tests, by the name of their main file.
var programs = map[string]string{"main.k": "KCL", "main.py": "Python", "__main__.py": "Python"}

// IsProgram reports whether a file name belongs to a program that may print tests of
// Upbound's CLI.
func IsProgram(path string) bool { return programs[filepath.Base(path)] != "" }

// Program returns a test that is skipped if a program prints tests of Upbound's CLI. Programs
// are not run.
func Program(path string, text []byte) []spec.Converted {
	if !slices.ContainsFunc(Kinds(), func(kind string) bool { return bytes.Contains(text, []byte(kind)) }) {
		return nil
	}
	name := filepath.Base(path)
	reason := fmt.Sprintf("the tests are a program in %s, which is not run: write the tests that it prints to a YAML file", programs[name])
	return []spec.Converted{{
		Name: name, Fields: map[string]any{"skip": reason}, Line: func([]string) int { return 1 },
		Warnings: []error{fmt.Errorf("%s: %s", path, reason)},
	}}
}
