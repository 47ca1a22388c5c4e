package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

// rendering lists the commands that render. reading lists the commands that read from a registry.
const (
	rendering = "render dev test diff"
	reading   = rendering + " validate lock run alpha xpkg.build xpkg.lint xpkg.push xpkg.verify xpkg.pull xpkg.copy xpkg.inspect xpkg.extract xpkg.diff xpkg.get-crds project.build project.push project.pull project.copy"
)

// TestHintsNameFlags checks that each option that a hint can name is a flag of the
// commands whose errors name it.
func TestHintsNameFlags(t *testing.T) {
	commands := map[hint.Hint]string{
		hint.Builtin: rendering, hint.Builtins: rendering, hint.Package: rendering, hint.Runtime: rendering,
		hint.CAFile: reading, hint.InsecureSkipTLSVerify: reading, hint.PlainHTTP: reading, hint.Registry: reading,
		hint.CacheDir:            rendering + " validate lock run xpkg.build cache.info",
		hint.Compositions:        "render",
		hint.CrossplaneVersion:   "render dev",
		hint.Dependencies:        "validate xpkg.get-crds",
		hint.EmbedRuntimeDir:     "xpkg.build",
		hint.EmbedRuntimeSource:  "xpkg.build",
		hint.EmbedRuntimeTarball: "xpkg.build",
		hint.Entrypoint:          "xpkg.build",
		hint.ExamplesRoot:        "xpkg.build xpkg.lint",
		hint.From:                "xrd.generate",
		hint.FunctionCredentials: "render dev diff operation.render",
		hint.GitPath:             "dependency.add",
		hint.GitRef:              "dependency.add",
		hint.IdleTimeout:         "lock image xpkg.push xpkg.pull xpkg.copy project.push project.pull project.copy",
		hint.Ignore:              "xpkg.build xpkg.lint",
		hint.Lenient:             rendering,
		hint.Lint:                "xpkg.build xpkg.lint project.build project.lint",
		hint.MaxMessageSize:      rendering + " run function.call",
		hint.NoBundle:            "xpkg.build",
		hint.NoSignatures:        "xpkg.copy",
		hint.Offline:             rendering + " validate lock run xpkg.build",
		hint.Platform:            "xpkg.build",
		hint.Profile:             "render",
		hint.Replace:             "xrd.generate",
		hint.RequiredResources:   "render dev diff function.call",
		hint.SignKey:             "xpkg.push",
		hint.Templates:           rendering,
		hint.Timeout:             rendering + " run",
		hint.Update:              "test",
		hint.WatchedResource:     "operation.render",
	}
	e2e.Equal(t, "each option of package hint has a command", slices.Sorted(slices.Values(hint.Options())), slices.Sorted(maps.Keys(commands)))
	model := e2e.Must(kong.New(&app{}))(t)
	for option, paths := range commands {
		name := strings.Trim(string(option), "{}")
		for path := range strings.FieldsSeq(paths) {
			n := model.Model.Node
			for command := range strings.SplitSeq(path, ".") {
				n = n.Children[slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == command })]
			}
			if !hasFlag(n, name) {
				t.Errorf("%s has no flag --%s", path, name)
			}
		}
	}
}

// hasFlag reports whether a command has a flag.
func hasFlag(n *kong.Node, name string) bool {
	return slices.ContainsFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == name })
}

// TestHintAboutCache checks which errors have the hint to use another cache.
func TestHintAboutCache(t *testing.T) {
	t.Setenv("XFN_CACHE_DIR", "/of/variable")
	const want = "allow the user to write to the cache, or name another directory with --cache-dir or XFN_CACHE_DIR"
	for _, tc := range []struct {
		reason, args, path string
		cause              error
		want               hint.Hint
	}{
		{"the user may not change the cache", "render a b --cache-dir /of/flag", "/of/flag/roots/a", fs.ErrPermission, want},
		{"the cache of the variable is on a read-only disk", "cache prune", "/of/variable", syscall.EROFS, want},
		{"a command may have its own flag of the cache", "alpha run a -c /of/flag", "/of/flag/blobs", fs.ErrPermission, want},
		{"another file is not in the cache", "render a b", "/of/flag/a", fs.ErrPermission, ""},
		{"another fault of the cache has other causes", "cache info", "/of/variable", io.ErrUnexpectedEOF, ""},
		{"a command without a cache needs no other one", "version", "/of/variable", fs.ErrPermission, ""},
	} {
		parser := e2e.Must(kong.New(&app{}, kong.BindTo(t.Context(), (*context.Context)(nil))))(t)
		kctx := e2e.Must(parser.Parse(strings.Fields(tc.args)))(t)
		e2e.Equal(t, tc.reason, tc.want, cacheHint(kctx, fmt.Errorf("opening %q: %w", tc.path, tc.cause)))
	}
}
