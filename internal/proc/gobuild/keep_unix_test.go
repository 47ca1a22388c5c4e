//go:build unix

package gobuild_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
)

// marker replaces the first word of a kept program, so that a test sees whether Build used this
// program.
const marker = "\x7fELF kept"

// keptProgram returns the path of the only program in a folder.
func keptProgram(t *testing.T, kept string) string {
	t.Helper()
	programs := e2e.Glob(t, filepath.Join(kept, "*", "program"))
	if len(programs) != 1 {
		t.Fatalf("got the programs %q, want one", programs)
	}
	return programs[0]
}

// mark writes the marker into the only program in a folder.
func mark(t *testing.T, kept string) {
	t.Helper()
	f := e2e.Must(os.OpenFile(keptProgram(t, kept), os.O_WRONLY, 0))(t)
	defer f.Close()
	e2e.NoError(t, e2e.Err(f.WriteAt([]byte(marker), 0)))
}

func TestKept(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"go.mod":          "module example.org/fn\n\ngo 1.25\n\nrequire example.org/lib v0.0.0\n\nreplace example.org/lib => ./models/lib\n",
		"main.go":         "package main\n\nimport (\n\t_ \"embed\"\n\n\t_ \"example.org/lib\"\n)\n\n//go:embed .data/text\nvar text string\n\nfunc main() { println(text) }\n",
		".data/text":      "first",
		"cmd/main.go":     program,
		"models/lib/a.go": "package lib\n", "models/lib/go.mod": "module example.org/lib\n\ngo 1.25\n",
	}
	cases := map[string]struct {
		reason string
		change func(t *testing.T, dir string, opts *gobuild.Options)
		kept   bool
	}{
		"Same": {"the program is given again if nothing has changed", func(*testing.T, string, *gobuild.Options) {}, true},
		"Checkout": {"another folder with the same source gets the same program", func(t *testing.T, _ string, opts *gobuild.Options) {
			opts.Dir = module(t, files)
		}, true},
		"Target": {"another platform gets another program", func(_ *testing.T, _ string, opts *gobuild.Options) {
			opts.GOARCH = "arm64"
		}, false},
		"Package": {"another package of the same module gets another program", func(t *testing.T, dir string, opts *gobuild.Options) {
			opts.Dir = filepath.Join(dir, "cmd")
		}, false},
		"Embedded": {"a change of an embedded file makes another program", func(t *testing.T, dir string, _ *gobuild.Options) {
			e2e.WriteFile(t, filepath.Join(dir, ".data/text"), "other")
		}, false},
		"Replaced": {"a change of a folder that replaces a module makes another program", func(t *testing.T, dir string, _ *gobuild.Options) {
			e2e.WriteFile(t, filepath.Join(dir, "models/lib/b.go"), "package lib\n\nfunc init() { println(1) }\n")
		}, false},
		"Tags": {"a change of the go command's environment makes another program", func(_ *testing.T, _ string, opts *gobuild.Options) {
			opts.Env = append(opts.Env, "GOFLAGS=-tags=x")
		}, false},
		"Collector": {"a variable that changes only how the go command runs makes no other program", func(_ *testing.T, _ string, opts *gobuild.Options) {
			opts.Env = append(opts.Env, "GOGC=400", "CGO_ENABLED=1")
		}, true},
		"Overlay": {"a flag that names a file leaves the decision to the go command", func(t *testing.T, dir string, opts *gobuild.Options) {
			overlay := filepath.Join(t.TempDir(), "overlay.json")
			e2e.WriteFile(t, overlay, "{}")
			opts.Env = append(opts.Env, "GOFLAGS=-overlay="+overlay)
		}, false},
		"Workspace": {"a workspace leaves the decision to the go command", func(t *testing.T, dir string, _ *gobuild.Options) {
			e2e.WriteFile(t, filepath.Join(dir, "go.work"), "go 1.25\n\nuse .\n")
		}, false},
		"LinkedFolder": {"a link to a folder leaves the decision to the go command", func(t *testing.T, dir string, _ *gobuild.Options) {
			e2e.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, "linked")))
		}, false},
		"Cut": {"a program that was not written whole is compiled again", func(t *testing.T, _ string, opts *gobuild.Options) {
			e2e.WriteFile(t, keptProgram(t, opts.Kept), marker)
		}, false},
		"Replaceable": {"a program in a folder that other users could replace is not given", func(t *testing.T, _ string, opts *gobuild.Options) {
			e2e.NoError(t, os.Chmod(filepath.Dir(opts.Kept), 0o777))
		}, false},
		"Writable": {"a program that other users could change is not given", func(t *testing.T, _ string, opts *gobuild.Options) {
			e2e.NoError(t, os.Chmod(filepath.Dir(keptProgram(t, opts.Kept)), 0o777))
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := module(t, maps.Clone(files))
			opts := options(t, dir, "GOFLAGS=")
			opts.Kept = filepath.Join(t.TempDir(), "programs")
			build(t, opts)
			mark(t, opts.Kept)
			tc.change(t, dir, &opts)
			opts.Output += "2"
			e2e.Equal(t, tc.reason, tc.kept, strings.HasPrefix(string(build(t, opts)), marker))
		})
	}
}

// TestKeptIsLinkedAgain checks that a later Build leaves the programs of earlier Builds as
// they were, and that an older source is compiled again.
func TestKeptIsLinkedAgain(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"main.go": program})
	opts := options(t, dir)
	opts.Kept = t.TempDir()
	want := build(t, opts)
	e2e.WriteFile(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() { println(\"changed\") }\n")
	changed := opts
	changed.Output += "-changed"
	if string(build(t, changed)) == string(want) {
		t.Error("the changed source made the same program")
	}
	e2e.WriteFile(t, filepath.Join(dir, "main.go"), program)
	again := opts
	again.Output += "-again"
	e2e.Equal(t, "the first source made another program the second time", string(want), string(build(t, again)))
	e2e.Equal(t, "a later Build does not change the program of the first one", string(want), e2e.ReadFile(t, opts.Output))
}

// A build that replaces a kept program links mainly, and may use more memory for it.
func TestKeptUsesMemory(t *testing.T) {
	t.Parallel()
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	script := "#!/bin/sh\necho \"[$GOGC $GOMEMLIMIT]\" >>'" + log + "'\nwhile [ \"$1\" != -o ]; do shift; done\necho a long program >\"$2\"\n"
	e2e.WriteFile(t, filepath.Join(bin, "go"), script)
	e2e.NoError(t, os.Chmod(filepath.Join(bin, "go"), 0o755))
	opts := options(t, module(t, map[string]string{"main.go": program}), "PATH="+bin+":"+os.Getenv("PATH"))
	opts.Env = slices.DeleteFunc(opts.Env, func(kv string) bool { return strings.HasPrefix(kv, "GOGC=") || strings.HasPrefix(kv, "GOMEMLIMIT=") })
	opts.Kept = filepath.Join(t.TempDir(), "programs")
	for i, limit := range []string{"", "", "GOGC=50", "GOMEMLIMIT=1MiB"} {
		o := opts
		o.Output += strconv.Itoa(i)
		if limit != "" {
			o.Env = append(slices.Clip(o.Env), limit)
		}
		build(t, o)
	}
	const want = "[ ]\n[off 1GiB]\n[50 ]\n[ 1MiB]\n"
	if got, err := os.ReadFile(log); err != nil || string(got) != want {
		t.Errorf("the go command got the settings %q, %v, want %q", got, err, want)
	}
}

// TestKeptBesideOutput checks that files which no Go file embeds, such as a package that was
// written to the folder, make no other program.
func TestKeptBesideOutput(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"main.go": program})
	opts := options(t, dir, "GOFLAGS=")
	opts.Kept = t.TempDir()
	build(t, opts)
	mark(t, opts.Kept)
	e2e.WriteFile(t, filepath.Join(dir, "fn.xpkg"), "built")
	opts.Output += "2"
	if !strings.HasPrefix(string(build(t, opts)), marker) {
		t.Error("the program was built again")
	}
}

// TestKeptWithPaths checks that a program that contains the path of its source is not used for
// another folder.
func TestKeptWithPaths(t *testing.T) {
	t.Parallel()
	opts := options(t, module(t, map[string]string{"main.go": program}))
	opts.Flags, opts.Kept = []string{"-trimpath=false"}, t.TempDir()
	first := build(t, opts)
	opts.Dir, opts.Output = module(t, map[string]string{"main.go": program}), opts.Output+"2"
	if string(build(t, opts)) == string(first) {
		t.Error("another folder got the program of the first one")
	}
}

// TestKeptAtOnce builds one folder concurrently: each Build gives a program.
func TestKeptAtOnce(t *testing.T) {
	t.Parallel()
	opts := options(t, module(t, map[string]string{"main.go": program}))
	opts.Kept = t.TempDir()
	errs := make(chan error)
	outputs := []string{opts.Output + "1", opts.Output + "2", opts.Output + "3"}
	for _, out := range outputs {
		opts := opts
		opts.Output = out
		go func() { errs <- gobuild.Build(t.Context(), opts) }()
	}
	for range outputs {
		e2e.NoError(t, <-errs)
	}
	for _, out := range outputs {
		if info, err := os.Stat(out); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("the program: %v, %v", info, err)
		}
	}
}

// TestKeptNowhere checks that Build needs no cache.
func TestKeptNowhere(t *testing.T) {
	t.Parallel()
	opts := options(t, module(t, map[string]string{"main.go": program}))
	opts.Kept = filepath.Join(t.TempDir(), "file")
	e2e.WriteFile(t, opts.Kept, "")
	build(t, opts)
}
