package gobuild_test

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc/gobuild"
)

const program = "package main\n\nfunc main() { println(\"hello\") }\n"

// module writes a Go module of the given files, and returns the directory of the module.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if _, ok := files["go.mod"]; !ok {
		e2e.WriteFile(t, filepath.Join(dir, "go.mod"), "module example.org/fn\n\ngo 1.25\n")
	}
	for name, text := range files {
		e2e.WriteFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func options(t *testing.T, dir string, env ...string) gobuild.Options {
	t.Helper()
	return gobuild.Options{
		Dir: dir, GOOS: "linux", GOARCH: "amd64",
		Output: filepath.Join(t.TempDir(), "out"),
		Env:    append(os.Environ(), env...),
	}
}

func build(t *testing.T, opts gobuild.Options) []byte {
	t.Helper()
	e2e.NoError(t, gobuild.Build(t.Context(), opts))
	return []byte(e2e.ReadFile(t, opts.Output))
}

func TestBuildIsRepeatable(t *testing.T) {
	files := map[string]string{"main.go": program, "lib/lib.go": "package lib\n"}
	first := build(t, options(t, module(t, files)))
	cases := map[string]struct {
		reason string
		env    []string
	}{
		"Directory":   {"another directory gives the same bytes", nil},
		"Flags":       {"GOFLAGS cannot add paths, symbols or stamps", []string{"GOFLAGS=-trimpath=false -buildvcs=true -ldflags=-X=main.a=b"}},
		"Mode":        {"GOFLAGS cannot require a dynamic loader", []string{"GOFLAGS=-buildmode=pie"}},
		"Shared":      {"GOFLAGS cannot link shared libraries", []string{"GOFLAGS=-linkshared"}},
		"Compiler":    {"GOFLAGS cannot choose another compiler", []string{"GOFLAGS=-compiler=gccgo"}},
		"Cover":       {"GOFLAGS cannot add coverage counters", []string{"GOFLAGS=-cover -covermode=atomic -coverpkg=./..."}},
		"Race":        {"the race detector, which needs cgo, is off", []string{"GOFLAGS=-race"}},
		"Msan":        {"the memory sanitizer, which needs cgo, is off", []string{"GOFLAGS=-msan"}},
		"Asan":        {"the address sanitizer, which needs cgo, is off", []string{"GOFLAGS=-asan"}},
		"Target":      {"the target of the environment is ignored", []string{"GOOS=plan9", "GOARCH=386", "CGO_ENABLED=1"}},
		"Environment": {"the CPU level of the environment is ignored", []string{"GOAMD64=v3"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := build(t, options(t, module(t, files), tc.env...)); !bytes.Equal(got, first) {
				t.Errorf("%s: the binaries differ", tc.reason)
			}
		})
	}
}

func TestBuildTarget(t *testing.T) {
	cases := map[string]struct {
		reason, arch, variant string
		machine               elf.Machine
		setting, want         string
	}{
		"Amd64":  {"the default is the lowest level", "amd64", "", elf.EM_X86_64, "GOAMD64", "v1"},
		"Arm64":  {"the OCI variant v8 is Go's v8.0", "arm64", "v8", elf.EM_AARCH64, "GOARM64", "v8.0"},
		"ArmV6":  {"the variant of arm is passed to the compiler", "arm", "v6", elf.EM_ARM, "GOARM", "6"},
		"ArmNil": {"arm without a variant is v7", "arm", "", elf.EM_ARM, "GOARM", "7"},
	}
	dir := module(t, map[string]string{"main.go": program})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			opts := options(t, dir, "GOARM=5", "GOARM64=v9.0", "GOAMD64=v4")
			opts.GOARCH, opts.Variant = tc.arch, tc.variant
			data := build(t, opts)
			f := e2e.Must(elf.NewFile(bytes.NewReader(data)))(t)
			e2e.Equal(t, tc.reason+": machine", tc.machine, f.Machine)
			if f.Section(".interp") != nil {
				t.Error("the binary is not static")
			}
			if f.Section(".symtab") != nil {
				t.Error("the binary is not stripped")
			}
			e2e.Equal(t, fmt.Sprintf("%s: %s", tc.reason, tc.setting), tc.want, setting(t, data, tc.setting))
		})
	}
}

func setting(t *testing.T, binary []byte, key string) string {
	t.Helper()
	for _, s := range e2e.Must(buildinfo.Read(bytes.NewReader(binary)))(t).Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func TestBuildObeysFlags(t *testing.T) {
	dir := module(t, map[string]string{"main.go": program, "extra.go": "//go:build extra\n\npackage main\n\nfunc init() { println(\"extra\") }\n"})
	if bytes.Equal(build(t, options(t, dir)), build(t, options(t, dir, "GOFLAGS=-tags=extra"))) {
		t.Error("the tags of GOFLAGS were ignored")
	}
	for flags, want := range map[string]string{"": "all=-dwarf=false", "-gcflags=-N": "-N"} {
		e2e.Equal(t, "flags of the compiler with GOFLAGS="+flags, want, setting(t, build(t, options(t, dir, "GOFLAGS="+flags)), "-gcflags"))
	}
}

func TestBuildRefuses(t *testing.T) {
	many := "package main\n\nfunc main() {\n" + strings.Repeat("\tundefined()\n", 9) + "}\n"
	cases := map[string]struct {
		reason    string
		files     map[string]string
		env, want []string
		hint      bool
	}{
		"DoesNotCompile": {"the output of the compiler is shown", map[string]string{"main.go": many}, nil, []string{"main.go:4:2: undefined: undefined", "linux/amd64"}, false},
		"Library":        {"a library is not a program", map[string]string{"lib.go": "package lib\n"}, nil, []string{"library"}, true},
		"Nothing":        {"a directory without Go files is an error", nil, nil, []string{"no Go files in"}, true},
		"MainsBelow":     {"main packages in sub-directories are not searched", map[string]string{"cmd/a/main.go": program, "cmd/b/main.go": program}, nil, []string{"no Go files in"}, true},
		"TwoPackages":    {"a directory has one package", map[string]string{"a.go": program, "b.go": "package lib\n"}, nil, []string{"a.go", "b.go"}, false},
		"NoModule":       {"a missing module is reported in go's words", map[string]string{"main.go": program, "go.mod": ""}, []string{"GO111MODULE=on", "GOFLAGS=-mod=mod"}, []string{"go.mod"}, false},
		"DryRun":         {"flags that build nothing are detected", map[string]string{"main.go": program}, []string{"GOFLAGS=-n"}, []string{"wrote no program"}, false},
		"NoGo":           {"go is searched in the PATH of the options", map[string]string{"main.go": program}, []string{"PATH=" + t.TempDir()}, []string{"no go on PATH"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			opts := options(t, module(t, tc.files), tc.env...)
			err := gobuild.Build(t.Context(), opts)
			if err == nil {
				t.Fatalf("%s: no error", tc.reason)
			}
			for _, want := range append(tc.want, opts.Dir) {
				e2e.ErrorHas(t, tc.reason, err, want)
			}
			e2e.Equal(t, tc.reason, tc.hint, hint.Of(err) != "")
			e2e.Empty(t, filepath.Dir(opts.Output))
		})
	}
}

func TestBuildExplainsOtherLanguages(t *testing.T) {
	dir := t.TempDir()
	e2e.WriteFile(t, filepath.Join(dir, "main.py"), "print()\n")
	err := gobuild.Build(t.Context(), options(t, dir))
	e2e.ErrorHint(t, "a folder without Go code is an error whose hint explains other languages", err, "expected source code in Go", "another language")
}

// TestBuildExplainsCgo checks that the error names a file with func main that is left out because
// it needs cgo.
func TestBuildExplainsCgo(t *testing.T) {
	cgo := strings.Replace(program, "package main\n", "package main\n\nimport \"C\"\n", 1)
	for _, tc := range []struct {
		reason string
		files  map[string]string
		want   string
	}{
		{"files that use cgo are left out", map[string]string{"main.go": cgo, "fn.go": "package main\n"}, `remove import "C" from main.go:3:`},
		{"the only file uses cgo", map[string]string{"main.go": strings.Replace(cgo, "import \"C\"", "import (\n\t\"C\"\n)", 1)}, `remove import "C" from main.go:4:`},
		{"a package may have no func main", map[string]string{"fn.go": "package main\n\nvar a = \"C\"\n"}, "which contains func main"},
	} {
		err := gobuild.Build(t.Context(), options(t, module(t, tc.files)))
		if got := string(hint.Of(err)); !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %v (hint: %s), want the hint %q", tc.reason, err, got, tc.want)
		}
	}
}

func TestBuildRefusesMissingDirectory(t *testing.T) {
	opts := options(t, filepath.Join(t.TempDir(), "gone"))
	e2e.ErrorHas(t, "the error names the folder", gobuild.Build(t.Context(), opts), opts.Dir)
}

// TestBuildBoundsOutput checks that endless output of a compiler fills neither
// the memory nor the screen.
func TestBuildBoundsOutput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for go is a shell script")
	}
	bin := t.TempDir()
	script := "#!/bin/sh\ni=0\nwhile [ $i -lt 20000 ]; do echo \"line $i\"; i=$((i+1)); done\nexit 1\n"
	e2e.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755))
	err := gobuild.Build(t.Context(), options(t, t.TempDir(), "PATH="+bin))
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	if !strings.HasSuffix(text, "\nline 19999") || !strings.Contains(text, "\n…\n") || strings.Count(text, "\n") > 50 {
		t.Errorf("want the last lines only, got %d lines that end in %q", strings.Count(text, "\n"), text[len(text)-20:])
	}
}

// TestBuildStops checks that a cancellation ends the go command and its child processes.
// A script replaces the go command: it starts a child, creates the file ready, and waits.
func TestBuildStops(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for go is a shell script")
	}
	bin := t.TempDir()
	ready := filepath.Join(bin, "ready")
	script := "#!/bin/sh\nsleep 1000 &\necho $! > " + ready + ".tmp\nmv " + ready + ".tmp " + ready + "\nwait\n"
	e2e.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755))
	stopped := errors.New("the user stopped it")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for !exists(ready) {
			runtime.Gosched()
		}
		cancel(stopped)
	}()
	opts := options(t, t.TempDir(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	e2e.ErrorIs(t, "Build returns the cause of its context", gobuild.Build(ctx, opts), stopped)
	e2e.Empty(t, filepath.Dir(opts.Output))
	assertGone(t, ready)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestBuildAppliesFlags checks that Build passes Options.LDFlags and Options.Flags to go
// build, after its own flags.
func TestBuildAppliesFlags(t *testing.T) {
	dir := module(t, map[string]string{
		"main.go":  "package main\n\nvar text = \"nothing\"\n\nfunc main() { println(text) }\n",
		"extra.go": "//go:build extra\n\npackage main\n\nfunc init() { println(\"only-with-a-tag\") }\n",
	})
	opts := options(t, dir)
	opts.LDFlags, opts.Flags = "-X main.text=set-by-a-flag", []string{"-tags=extra"}
	data := build(t, opts)
	for _, want := range []string{"set-by-a-flag", "only-with-a-tag"} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("%q is not in the binary", want)
		}
	}
	f := e2e.Must(elf.NewFile(bytes.NewReader(data)))(t)
	if f.Section(".symtab") != nil {
		t.Error("the binary is not stripped")
	}
	opts = options(t, dir)
	opts.Flags = []string{"-nonsense"}
	e2e.ErrorHas(t, "the error has the message of go", gobuild.Build(t.Context(), opts), "-nonsense")
}
