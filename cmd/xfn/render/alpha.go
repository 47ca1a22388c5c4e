package render

import (
	"errors"
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/session"
	engine "github.com/xfn-dev/xfn/render"
)

// alphaFlags are the flags that profile alpha supports.
var alphaFlags = []string{
	"quiet", "verbose",
	"xr", "all-documents", "xrd", "observed-resources", "context-files", "context-values",
	"profile", "crossplane-version", "literal-deletion", "timeout",
	"crossplane-binary", "crossplane-image", "crossplane-docker-network",
	"runtime", "offline", "registry", "cache-dir",
	"include-full-xr", "include-function-results", "include-connection-details", "format", "output-dir", "check", "update", "validate", "crd",
}

// checkAlpha returns an error for arguments and flags that the profile does not support.
func checkAlpha(in session.Inputs, functions string, kctx *kong.Context) error {
	if in.Profile != engine.Alpha {
		if in.LiteralDeletion {
			return errors.New("--literal-deletion goes with --profile alpha")
		}
		return nil
	}
	if functions != "" {
		return hint.Wrap(fmt.Errorf("unexpected argument %q", functions), "--profile alpha takes no functions: they are in the Composition")
	}
	for _, element := range kctx.Path {
		if f := element.Flag; f != nil && !slices.Contains(alphaFlags, f.Name) {
			return fmt.Errorf("--%s does not go with --profile alpha", f.Name)
		}
	}
	return nil
}
