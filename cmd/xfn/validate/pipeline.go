package validate

import (
	"context"
	"errors"
	"fmt"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// PipelineCmd is xfn convert pipeline-composition.
type PipelineCmd struct {
	convertFiles

	FunctionName           string `short:"f" aliases:"function-patch-and-transform-ref" default:"function-patch-and-transform" empty:"" placeholder:"NAME" help:"Name of the Function for patches and transforms. Default: ${default}."`
	EnvironmentConfigsName string `name:"function-environment-configs-ref" default:"function-environment-configs" empty:"" placeholder:"NAME" help:"Name of the Function for EnvironmentConfigs. Default: ${default}."`
}

// Help is shown by --help.
func (PipelineCmd) Help() string {
	return `Converts a Composition of mode Resources, or with neither a mode nor steps, to a pipeline that calls function-patch-and-transform and, if needed, function-environment-configs. Alpha functions (spec.functions) become steps; their functions must be rewritten. Fields that cannot be converted are listed in comments above the Composition and on stderr.

Examples:

    xfn convert pipeline-composition composition.yaml -o pipeline.yaml
    kubectl get composition widgets -o yaml | xfn convert pipeline-composition
`
}

// Run converts the documents, and writes all or none.
func (c *PipelineCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	for _, name := range []string{c.FunctionName, c.EnvironmentConfigsName} {
		if manifest.IsYAML(name) {
			err := fmt.Errorf("expected the name of a Function, got the file %q", name)
			return &terminal.UsageError{Err: hint.Wrap(err, hint.Hint("name the file to write with -o "+name))}
		}
	}
	return c.run(ctx, term, conversion{
		what:    "a legacy Composition",
		applies: legacy.Converts,
		check:   refused,
		convert: func(obj map[string]any) (map[string]any, []legacy.Note, error) {
			return legacy.Convert(obj, legacy.Names{PatchAndTransform: c.FunctionName, EnvironmentConfigs: c.EnvironmentConfigsName})
		},
		pipeline: "is already a pipeline", resources: "is not of mode Resources",
	})
}

// refused returns the errors with which function-patch-and-transform rejects the input into which a
// legacy Composition is converted.
func refused(ctx context.Context, doc manifest.Document) (err error) {
	e, decodeErr := composition.Decode(doc)
	if decodeErr != nil || !e.Converted {
		return nil // The conversion reports the error.
	}
	for _, p := range check.Composition(ctx, e, check.Options{Mode: check.NoSchemas, Inputs: builtin.Inputs()}) {
		if p.Kind == check.InvalidInput && !p.Warning {
			err = errors.Join(err, p)
		}
	}
	return err
}

// EnvironmentCmd is xfn convert composition-environment.
type EnvironmentCmd struct {
	convertFiles

	EnvironmentConfigsName string `name:"function-environment-configs-ref" default:"function-environment-configs" empty:"" placeholder:"NAME" help:"Name of the Function for EnvironmentConfigs. Default: ${default}."`
}

// Help is shown by --help.
func (EnvironmentCmd) Help() string {
	return `Replaces the environment of a Composition of mode Pipeline by a first step that calls function-environment-configs. Crossplane v2 removed the field spec.environment. If no Composition has it, nothing is written.

Example:

    xfn convert composition-environment composition.yaml -o converted.yaml
`
}

// Run converts the documents, and writes all or none.
func (c *EnvironmentCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	return c.run(ctx, term, conversion{
		what:    "a Composition of mode Pipeline with an environment",
		applies: legacy.HasEnvironment,
		convert: func(obj map[string]any) (map[string]any, []legacy.Note, error) {
			return legacy.ConvertEnvironment(obj, c.EnvironmentConfigsName)
		},
		pipeline: "has no environment", resources: "is not a pipeline: `convert pipeline-composition` converts it",
		lenient: true,
	})
}
