package flags

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
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

// A comma begins another annotation if a key and "=" follow. Keys for Functions have a prefix, as in
// render.crossplane.io/runtime: text such as A=1,B=2 in the value of an annotation is not split.
var (
	nextImageKey    = proc.Regexp(`^,[A-Za-z0-9][A-Za-z0-9._/-]*=`)
	nextFunctionKey = proc.Regexp(`^,[A-Za-z0-9][A-Za-z0-9.-]*/[A-Za-z0-9._-]+=`)
)

// ImageAnnotations parses the values of --oci-annotation, of the form KEY=VALUE[,KEY=VALUE]... If a
// key occurs several times, the last value has priority.
func ImageAnnotations(values []string) (map[string]string, error) {
	return annotations("--oci-annotation", values, nextImageKey(), "org.opencontainers.image.source=https://example.org")
}

// FunctionAnnotations parses the values of --function-annotations, as ImageAnnotations does.
func FunctionAnnotations(values []string) (map[string]string, error) {
	return annotations("--function-annotations", values, nextFunctionKey(), "render.crossplane.io/runtime=Docker")
}

// annotations parses the values of a flag. next matches a comma that begins another annotation.
func annotations(flag string, values []string, next *regexp.Regexp, example string) (map[string]string, error) {
	all := map[string]string{}
	for _, value := range values {
		for _, a := range splitAnnotations(value, next) {
			key, value, ok := strings.Cut(a, "=")
			problem := ""
			switch {
			case !ok:
				problem = "expected KEY=VALUE"
			case strings.TrimSpace(key) == "":
				problem = "the key is empty"
			}
			if problem != "" {
				return nil, &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("reading %s %q: %s", flag, a, problem), "use "+example+", say")}
			}
			all[key] = value
		}
	}
	return all, nil
}

func splitAnnotations(text string, next *regexp.Regexp) []string {
	var all []string
	var last strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], `\,`):
			i++
		case next.MatchString(text[i:]):
			all = append(all, last.String())
			last.Reset()
			continue
		}
		last.WriteByte(text[i])
	}
	return append(all, last.String())
}
