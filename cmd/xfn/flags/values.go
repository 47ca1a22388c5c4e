package flags

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Optional is a flag with an optional value.
type Optional struct {
	// On is true if the flag is given. Values are its values, and Value is the last one or "".
	On     bool
	Values []string
	Value  string
}

// Decode accepts --flag and --flag=VALUE.
func (o *Optional) Decode(ctx *kong.DecodeContext) error {
	o.On = true
	if next := ctx.Scan.Peek(); next.Type == kong.FlagValueToken {
		o.Value = ctx.Scan.Pop().String()
		if o.Value == "" {
			return errors.New("expected a value after =")
		}
		o.Values = append(o.Values, o.Value)
	}
	return nil
}

// IsBool returns true, so that kong accepts the flag without a value.
func (*Optional) IsBool() bool { return true }

// keyValues are the values of a flag that accepts KEY=VALUE. An empty value is ignored, as in the
// crossplane CLI, because scripts pass variables that may be empty.
type keyValues map[string]string

// Decode implements kong.MapperValue.
func (k *keyValues) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("string", &text); err != nil || text == "" {
		return err
	}
	if *k == nil {
		*k = keyValues{}
	}
	for _, pair := range pairsOf(text) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf(`expected "<key>=<value>" but got %q`, text)
		}
		(*k)[key] = value
	}
	return nil
}

// pairsOf splits a text at semicolons, as in the crossplane CLI. Where that does not give pairs with
// whole texts, which the crossplane CLI refuses, the semicolons are a part of the only pair.
func pairsOf(text string) []string {
	pairs := kong.SplitEscaped(text, ';')
	if slices.ContainsFunc(pairs, func(p string) bool { return !strings.Contains(p, "=") || strings.Count(p, `"`)%2 != 0 }) {
		return []string{text}
	}
	return pairs
}

// SplitFiles splits each value of a flag at its commas as the crossplane CLI does, unless a file has
// that name. A comma at the end is ignored, and \, is a comma in a name.
func SplitFiles(values []string) []string {
	var paths []string
	for _, value := range values {
		if _, err := os.Stat(value); err == nil {
			paths = append(paths, value)
			continue
		}
		for _, path := range kong.SplitEscaped(value, ',') {
			paths = append(paths, strings.TrimSpace(path))
		}
	}
	return paths
}

// Files are existing files and folders, by whatever path.
type Files []os.FileInfo

// FilesAt returns what exists at paths.
func FilesAt(paths ...string) (files Files) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			files = append(files, info)
		}
	}
	return files
}

// Has reports whether the file or folder at a path is one of f.
func (f Files) Has(path string) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(f, func(other os.FileInfo) bool { return os.SameFile(info, other) })
}
