package spec

import "github.com/xfn-dev/xfn/internal/manifest"

// Expect is the expected output of a render.
type Expect struct {
	XR         map[string]Matcher   `json:"xr" doc:"Fields of the composite resource by their paths, such as status.url or metadata.labels[example.org/team], and what is expected of each."`
	Resources  map[string]Resource  `json:"resources" doc:"Composed resources, by their names in the Composition, by Kind/name, or by kind if only one resource has it."`
	Only       []string             `json:"only" single:"" doc:"All composed resources, named as in resources. Any other composed resource is a failure."`
	Count      map[string]int       `json:"count" doc:"The number of composed resources: by Kind, by apiVersion/Kind, or total."`
	Golden     Golden               `json:"golden" doc:"A file with the expected output, compared by structure. xfn test writes it when it updates golden files."`
	Results    []Result             `json:"results" single:"" doc:"Results that functions must return. At least one result must match each."`
	Conditions map[string]Condition `json:"conditions" doc:"Conditions of the composite resource by type, such as Ready."`
	Ready      Ready                `json:"ready" doc:"Whether the composite resource is ready after the last pass, or which resources are."`
	Passes     *int                 `json:"passes" doc:"The maximum number of passes until nothing changes (see observe)."`
	Context    map[string]Matcher   `json:"context" doc:"Context after the last function, by path. Write keys with dots in brackets."`
	Connection map[string]Matcher   `json:"connectionDetails" doc:"Connection details of the composite resource, by key."`
	Valid      Valid                `json:"valid" doc:"Whether the composite resource and the composed resources are valid by the schemas of the case and by its XRD. If true, the patches of the Composition must be valid, too, as far as its validation mode makes violations errors."`
	CEL        []string             `json:"cel" single:"" doc:"CEL expressions that must be true. Variables are xr, resources (objects by name), results and context."`
	Fatal      *Text                `json:"fatal" doc:"The fatal result that a function must return. Other expectations are ignored."`
	Error      *Text                `json:"error" doc:"The error with which the render must fail. Other expectations are ignored."`
}

// A Matcher is what is expected of a field. All its fields must match.
type Matcher struct {
	Value   *manifest.Value `short:"" doc:"The expected value of the field."`
	Equals  *manifest.Value `json:"equals" doc:"The expected value of the field; 1 equals 1.0."`
	Matches *string         `json:"matches" doc:"A regular expression (RE2) that must match a part of the field's string."`
	Exists  *bool           `json:"exists" doc:"Whether the field must exist."`
	Absent  *bool           `json:"absent" doc:"Whether the field must not exist."`
	In      []any           `json:"in" doc:"The allowed values of the field."`
	Length  *int            `json:"length" doc:"The number of characters, elements or keys of the field."`
	CEL     *string         `json:"cel" doc:"A CEL expression that must be true. Variables are self (the field), xr, resources, results and context."`
}

// A Text is what is expected of a string.
type Text struct {
	Contains *string `json:"contains" short:"" doc:"A string that the text must contain."`
	Equals   *string `json:"equals" doc:"The whole text."`
	Matches  *string `json:"matches" doc:"A regular expression (RE2) that the text has to match somewhere."`
}

// A Resource is what is expected of a composed resource.
type Resource struct {
	State  string             `short:"" enum:"present,absent" doc:"Whether the resource must exist."`
	Fields map[string]Matcher `whole:"" doc:"Fields by their paths, and what is expected of each. The resource must exist, even if this is {}."`
}

// Golden names files with the expected output.
type Golden struct {
	File      string            `json:"file" short:"" doc:"File of the composite resource and all composed resources, as xfn render prints them."`
	XR        string            `json:"xr" doc:"File of the composite resource alone."`
	Resources map[string]string `json:"resources" doc:"Files of single composed resources, named as in expect.resources."`
}

// A Result is a result that a function must return.
type Result struct {
	Severity string `json:"severity" enum:"Normal,Warning" doc:"Severity of the result. Use fatal for a fatal result."`
	Message  *Text  `json:"message" doc:"Its message: a string that it contains, or {equals} or {matches}."`
	Reason   *Text  `json:"reason" doc:"Its reason."`
	Step     string `json:"step" doc:"The pipeline step whose function returned it."`
	Absent   bool   `json:"absent" doc:"Whether no result may match."`
}

// A Condition is what is expected of a condition of the XR.
type Condition struct {
	Status  Status `json:"status" short:"" doc:"True, False or Unknown."`
	Reason  *Text  `json:"reason" doc:"Its reason."`
	Message *Text  `json:"message" doc:"Its message."`
}

// Ready is what is expected of readiness.
type Ready struct {
	XR        *bool    `json:"xr" short:"" doc:"Whether the composite resource is ready."`
	Resources []string `json:"resources" single:"" doc:"Composed resources that functions must report as ready."`
	Unready   []string `json:"unready" single:"" doc:"Composed resources that functions must not report as ready."`
	After     *int     `json:"after" doc:"The maximum number of passes until the composite resource is ready. It is also the number of passes if observe sets none."`
}

// Valid is the expected result of validation by schemas.
type Valid struct {
	All    *bool    `json:"all" short:"" doc:"Whether all objects are valid and have a schema. Schemas of Kubernetes' own kinds are built in."`
	Ignore []string `json:"ignore" single:"" doc:"Kinds that are not validated and need no schema, as Kind or apiVersion/Kind. Composition is one."`
}
