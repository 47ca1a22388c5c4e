package gobuild

import (
	"cmp"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/proc"
)

// overridden are the environment variables that Build sets or clears, because they would
// change the target platform or the bytes of the program.
var overridden = map[string]bool{
	"GOOS": true, "GOARCH": true, "CGO_ENABLED": true, "GOTMPDIR": true,
	"GOARM": true, "GOARM64": true, "GOAMD64": true, "PWD": true,
}

// environment returns opts.Env with the Go variables for the target platform and for the
// directory of temporary files, work.
func environment(opts Options, work string) []string {
	env := make([]string, 0, len(opts.Env)+5)
	for _, kv := range opts.Env {
		if key, _, _ := strings.Cut(kv, "="); !overridden[proc.FoldKey(key)] {
			env = append(env, kv)
		}
	}
	env = append(env, "GOOS="+opts.GOOS, "GOARCH="+opts.GOARCH, "CGO_ENABLED=0", "GOTMPDIR="+work)
	return append(env, variant(opts.GOARCH, opts.Variant)...)
}

// withoutGC lets the linker use 1 GiB of memory before it collects garbage: it needs an eighth less
// CPU time. Compilers run concurrently, so this is only for builds that compile few packages.
var withoutGC = []string{"GOGC=off", "GOMEMLIMIT=1GiB"}

// flagsFor returns the flags of all builds in an environment. They include withoutDebug unless
// GOFLAGS has -gcflags, which withoutDebug would replace.
func flagsFor(env []string) []string {
	var set string
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "GOFLAGS="); ok {
			set = value // The last one counts.
		}
	}
	if strings.Contains(set, "-gcflags") {
		return flags
	}
	return append(slices.Clip(flags), withoutDebug)
}

// limitsMemory reports whether an environment has settings of Go's garbage collector.
func limitsMemory(env []string) bool {
	return slices.ContainsFunc(env, func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{"GOGC", "GOMEMLIMIT"}, proc.FoldKey(key))
	})
}

// variant returns the Go environment variable for an OCI CPU variant (image spec,
// "Platform Variants"), such as GOARM=7. The variant "v8" of arm64 is "v8.0" in Go.
func variant(arch, v string) []string {
	switch arch {
	case "arm":
		return []string{"GOARM=" + strings.TrimPrefix(cmp.Or(v, "v7"), "v")}
	case "arm64":
		if v = cmp.Or(v, "v8"); !strings.Contains(v, ".") {
			v += ".0"
		}
		return []string{"GOARM64=" + v}
	case "amd64":
		return []string{"GOAMD64=" + cmp.Or(v, "v1")}
	}
	return nil
}
