package flags

import (
	"errors"
	"slices"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/session"
)

// Sources are the flags for the inputs of a render, except its arguments.
type Sources struct {
	XRD                 string            `name:"xrd" placeholder:"FILE" help:"The definition of the composite resource, for its defaults and scope."`
	ObservedResources   []string          `short:"o" sep:"none" placeholder:"PATH" help:"File or folder of existing composed resources. Repeatable."`
	RequiredResources   []string          `short:"e" sep:"none" placeholder:"PATH" help:"File or folder of resources that functions may require. Repeatable."`
	ExtraResources      []string          `sep:"none" placeholder:"PATH" help:"The same, for functions that request extra resources. Repeatable."`
	RequiredSchemas     []string          `short:"s" sep:"none" placeholder:"PATH" help:"JSON file or folder of OpenAPI schemas that functions may require. Repeatable."`
	FunctionCredentials []string          `sep:"none" placeholder:"PATH" help:"File or folder of Secrets with credentials of functions. Repeatable."`
	ContextFiles        map[string]string `mapsep:"none" placeholder:"KEY=FILE" help:"Add YAML or JSON from a file to the context of the functions. Repeatable."`
	ContextValues       map[string]string `mapsep:"none" placeholder:"KEY=VALUE" help:"Add YAML or JSON to the context of the functions. Repeatable."`
}

// Inputs returns the inputs of a render.
func (s Sources) Inputs() session.Inputs {
	return session.Inputs{
		XRD: s.XRD, Observed: s.ObservedResources, Required: s.RequiredResources, Extra: s.ExtraResources,
		Schemas: s.RequiredSchemas, Credentials: s.FunctionCredentials,
		ContextFiles: s.ContextFiles, ContextValues: s.ContextValues,
	}
}

// CheckStdin returns an error if several paths are standard input.
func CheckStdin(paths ...string) error {
	if i := slices.Index(paths, manifest.Stdin); i >= 0 && slices.Contains(paths[i+1:], manifest.Stdin) {
		return errors.New("standard input can only be read once, but - stands for several files")
	}
	return nil
}
