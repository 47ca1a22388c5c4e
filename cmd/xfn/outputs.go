package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// checkOutputs returns an error if two flags name one file to write, or if the file is an input: an
// argument, or an existing YAML file. Flags of such files have the tag "writes", whose value is an
// example of a file name. If the example is a YAML file, the flag may replace a YAML file. The output
// of a conversion may replace its input. An example that ends in / is a folder. No file is named -,
// which means standard output for flags with the tag "stdout". xpkg.CheckOutput checks the files of
// packages.
func checkOutputs(kctx *kong.Context) error {
	written := map[string]*kong.Flag{}
	for _, p := range kctx.Path {
		if p.Flag == nil || !p.Flag.Tag.Has("writes") {
			continue
		}
		example, assign := p.Flag.Tag.Get("writes"), " "
		if p.Flag.IsBool() {
			assign = "="
		}
		suchAs := hint.Hint("such as --" + p.Flag.Name + assign + example)
		for _, path := range pathsOf(kctx, p) {
			if path == manifest.Stdin && !p.Flag.Tag.Has("stdout") {
				return hint.Wrap(fmt.Errorf("--%s cannot be written to standard output (-)", p.Flag.Name), "name a path, "+suchAs)
			}
			if what := inputAt(kctx, path, example); what != "" {
				err := fmt.Errorf("--%s names %q, which %s: it would be overwritten", p.Flag.Name, path, what)
				return hint.Wrap(err, "name another file to write, "+suchAs)
			}
			if first := written[filepath.Clean(path)]; first != nil && first != p.Flag && isFile(path, example) {
				err := fmt.Errorf("--%s and --%s name one file, %q", first.Name, p.Flag.Name, path)
				return hint.Wrap(err, "name a file for each, "+suchAs)
			}
			written[filepath.Clean(path)] = p.Flag
		}
	}
	return nil
}

// isFile reports whether path is the path of a regular file, or of none yet, and the example is not a
// folder. Several flags may name one folder, device or pipe.
func isFile(path, example string) bool {
	info, err := os.Stat(path)
	return path != "" && path != manifest.Stdin && !strings.HasSuffix(example, "/") && (err != nil || info.Mode().IsRegular())
}

// inputAt says why the file at a path is an input, or returns "". example is the value of the tag.
func inputAt(kctx *kong.Context, path, example string) string {
	if _, err := os.Stat(path); err != nil || !isFile(path, example) {
		return ""
	}
	target, _ := filepath.EvalSymlinks(path) // The output replaces the target of a link.
	switch {
	case manifest.IsYAML(target) && !manifest.IsYAML(example):
		return "is a YAML file"
	case isArgument(kctx, path):
		return "the command reads"
	}
	return ""
}

func isArgument(kctx *kong.Context, file string) bool {
	return slices.ContainsFunc(kctx.Path, func(p *kong.Path) bool {
		return p.Positional != nil && flags.FilesAt(pathsOf(kctx, p)...).Has(file)
	})
}

// pathsOf returns the values of a flag or an argument that can be paths.
func pathsOf(kctx *kong.Context, p *kong.Path) (paths []string) {
	switch v := kctx.Value(p).Interface().(type) {
	case string:
		paths = strings.Split(v, ",")
	case []string:
		paths = v
	case map[string]string:
		paths = slices.Sorted(maps.Values(v))
	case flags.Optional:
		paths = []string{v.Value}
	}
	return paths
}
