package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/cel-go/cel"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/proc"
)

func sequencer() Builtin {
	return Builtin{
		Name: "function-sequencer", Measured: sequencerMeasured, From: "v0.4.0", Below: "v0.7.0",
		Input:   inputOf[SequencerInput]("sequencer.fn.crossplane.io/v1beta1 Input", composition.Input{Patterns: []string{"rules[].sequence[]"}}),
		Covered: "`rules` with `sequence`, `condition` and `deleteOnly`; `enableDeletionSequencing`, `replayDeletion`, `usageVersion`, `resetCompositeReadiness`, `cacheTTL`. Fields that the version of the package does not have are unknown. Before v0.6.0, an entry that is not the name of an observed resource uses each earlier entry, once that is ready. With the tag `main` or from v0.7.0-0 also `createOnly`, which no release has.",
		Differs: "Requests that crash the real function have fatal results: one without a desired state, one that resets the readiness of a composite resource that is not desired, and, before v0.6.0, one with a Usage of a resource that does not exist. The cost of CEL conditions, regular expressions (16 KiB, 10,000 instructions) and the number of Usages (10,000) are limited. If the names of two Usages are equal, the last one is desired.",
		New: func(o Options) function.Runner {
			return o.withNames(newSequencer(version(o.Package)), true, "rules[].sequence[]")
		},
		locate: firstLine(locateSequence),
	}
}

// sequencerMeasured is the version of the real function with which tests compare the builtin.
const sequencerMeasured = "v0.6.0"

// newSequencer returns function-sequencer as it is in a version. It caches compiled conditions
// and regular expressions.
func newSequencer(version string) function.Runner {
	f := &sequencerFunction{version: version, conditions: sdk.NewCEL(sdk.CELDialect{
		Variables: sdk.StateVariables(),
		Messages:  []proto.Message{&fnv1.State{}},
		Type: func(_ string, t *cel.Type) error {
			if t.IsExactType(cel.BoolType) || t.IsExactType(cel.DynType) {
				return nil
			}
			return fmt.Errorf("CEL condition must return bool, got %s", t)
		},
		Parse:    "cannot parse CEL condition",
		Check:    "cannot type-check CEL condition",
		Program:  "cannot compile CEL condition",
		Evaluate: "cannot evaluate CEL condition",
		NotBool:  "CEL condition result is not bool",
	})}
	return function.RunnerFunc(f.run)
}

type sequencerFunction struct {
	version    string
	conditions *sdk.CEL
	patterns   proc.Memo[string, *spec.Expression]
}

// run applies the rules in the input. Like the real function, it drops the connection details
// of all desired resources.
func (f *sequencerFunction) run(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in, err := sdk.Input[SequencerInput](req, sdk.Absent(f.version, sequencerMeasured, sequencerSince)...)
	if err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	if in.CacheTTL != "" {
		ttl, err := time.ParseDuration(in.CacheTTL)
		if err != nil {
			return sdk.Fatal(rsp, fmt.Errorf("cannot set cacheTTL: %w", err)), nil
		}
		rsp.Meta.Ttl = durationpb.New(ttl)
	}
	s := newSequencing(f, in, req, rsp)
	err = s.run(ctx)
	var call callError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("sequencing resources: %w", context.Cause(ctx))
	case errors.As(err, &call):
		call.function = name
		return nil, call
	case err != nil:
		rsp.Desired = s.state(req.GetDesired().GetResources())
		return sdk.Fatal(rsp, err), nil
	}
	rsp.Desired = s.state(s.desired)
	return rsp, nil
}

// compile compiles a regular expression. An error has the text of the real function.
func (f *sequencerFunction) compile(pattern string) (*spec.Expression, error) {
	anchored := pattern
	if !strings.HasPrefix(pattern, "^") && !strings.HasSuffix(pattern, "$") {
		anchored = "^" + pattern + "$"
	}
	compile := func() (*spec.Expression, error) { return spec.CompilePattern(anchored) }
	expr, err := f.patterns.Do(anchored, compile)
	if err != nil {
		return nil, fmt.Errorf("cannot compile regex %s: %w", pattern, err)
	}
	return expr, nil
}

// A callError is an error for which the real function returns no response, but a gRPC error
// with the code Unknown. Error returns the text that Crossplane reports for such a call of
// any function.
type callError struct{ function, message string }

// Error returns the text of an error of a function that was called by gRPC.
func (e callError) Error() string {
	return fmt.Sprintf("calling function %q: %s: %s", e.function, codes.Unknown, e.message)
}

// GRPCStatus returns the gRPC error of the real function.
func (e callError) GRPCStatus() *status.Status { return status.New(codes.Unknown, e.message) }

// SequencerInput is the input of function-sequencer. All fields are optional.
type SequencerInput struct {
	sdk.Meta `json:",inline"`

	// CacheTTL is the time to live of the response, as a Go duration. It may be zero or
	// negative. If it is empty, it is sdk.TTL.
	CacheTTL string `json:"cacheTTL,omitempty"`
	// EnableDeletionSequencing creates Usages.
	EnableDeletionSequencing bool `json:"enableDeletionSequencing,omitempty"`
	// ReplayDeletion is a field of each Usage.
	ReplayDeletion bool `json:"replayDeletion,omitempty"`
	// UsageVersion is v1 for the Usages of Crossplane v1. Any other text means v2.
	UsageVersion string `json:"usageVersion,omitempty"`
	// ResetCompositeReadiness sets the composite resource to not ready if a rule delays a
	// resource.
	ResetCompositeReadiness bool `json:"resetCompositeReadiness,omitempty"`
	// Rules are applied in order.
	Rules []SequencingRule `json:"rules,omitempty"`
}

// A SequencingRule is a sequence of resources.
type SequencingRule struct {
	// Sequence has names of composed resources, or regular expressions that match them. A
	// regular expression that neither begins with ^ nor ends with $ gets both.
	Sequence []string `json:"sequence,omitempty"`
	// Condition is a CEL expression. If it is false, the rule delays no resource.
	Condition string `json:"condition,omitempty"`
	// DeleteOnly orders only the deletion.
	DeleteOnly bool `json:"deleteOnly,omitempty"`
	// CreateOnly orders only the creation.
	CreateOnly bool `json:"createOnly,omitempty"`
}

// sequencerSince has the first version of the real function with each field. Other fields are older.
var sequencerSince = map[string]string{
	"enableDeletionSequencing": "v0.4.0",
	"replayDeletion":           "v0.4.0",
	"usageVersion":             "v0.4.0",
	"resetCompositeReadiness":  "v0.4.0",
	"cacheTTL":                 "v0.6.0",
	"rules[].condition":        "v0.6.0",
	"rules[].deleteOnly":       "v0.6.0",
	"rules[].createOnly":       "v0.7.0-0",
}

// locateSequence returns the path of the field in an input to which a fatal result refers, or "". The
// input is in JSON.
func locateSequence(fatal string, input []byte) string {
	in := &SequencerInput{}
	if json.Unmarshal(input, in) != nil {
		return ""
	}
	if strings.HasPrefix(fatal, "cannot set cacheTTL: ") {
		return "cacheTTL"
	}
	for i, rule := range in.Rules {
		if strings.HasPrefix(fatal, fmt.Sprintf("cannot evaluate condition %q for sequence %v: ", rule.Condition, rule.Sequence)) {
			return fmt.Sprintf("rules[%d].condition", i)
		}
		if strings.HasPrefix(fatal, fmt.Sprintf("rule for sequence %v cannot have ", rule.Sequence)) && rule.CreateOnly && rule.DeleteOnly {
			return fmt.Sprintf("rules[%d]", i)
		}
		for j, pattern := range rule.Sequence {
			if strings.HasPrefix(fatal, fmt.Sprintf("cannot compile regex %s: ", pattern)) {
				return fmt.Sprintf("rules[%d].sequence[%d]", i, j)
			}
		}
	}
	return ""
}
