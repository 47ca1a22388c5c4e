package gobuild

import (
	"strings"

	"github.com/xfn-dev/xfn/internal/proc"
)

// decided are the variables that Build sets or clears whatever the user's
// environment says, since they would change the target or the bytes.
var decided = map[string]bool{
	"GOOS": true, "GOARCH": true, "CGO_ENABLED": true, "GOTMPDIR": true,
	"GOARM": true, "GOARM64": true, "GOAMD64": true, "PWD": true,
}

// environment returns opts.Env with the target and work decided.
func environment(opts Options, work string) []string {
	env := make([]string, 0, len(opts.Env)+5)
	for _, kv := range opts.Env {
		if key, _, _ := strings.Cut(kv, "="); !decided[proc.FoldKey(key)] {
			env = append(env, kv)
		}
	}
	env = append(env, "GOOS="+opts.GOOS, "GOARCH="+opts.GOARCH, "CGO_ENABLED=0", "GOTMPDIR="+work)
	return append(env, variant(opts.GOARCH, opts.Variant)...)
}

// variant translates an OCI CPU variant (image spec, "Platform Variants") to
// the setting of the Go toolchain. "v8" of arm64 is Go's "v8.0".
func variant(arch, v string) []string {
	switch arch {
	case "arm":
		return []string{"GOARM=" + strings.TrimPrefix(or(v, "v7"), "v")}
	case "arm64":
		if v = or(v, "v8"); !strings.Contains(v, ".") {
			v += ".0"
		}
		return []string{"GOARM64=" + v}
	case "amd64":
		return []string{"GOAMD64=" + or(v, "v1")}
	}
	return nil
}

func or(v, otherwise string) string {
	if v == "" {
		return otherwise
	}
	return v
}
