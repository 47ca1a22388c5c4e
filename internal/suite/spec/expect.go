package spec

import "github.com/xfn-dev/xfn/internal/manifest"

// Expect is what has to come of a render.
type Expect struct {
	XR         map[string]Matcher   `json:"xr" doc:"Fields of the composite resource by their paths, such as status.url or metadata.labels[example.org/team], and what is expected of each."`
	Resources  map[string]Resource  `json:"resources" doc:"Composed resources, by their names in the Composition, by Kind/name, or by kind where there is one of it."`
	Only       []string             `json:"only" single:"" doc:"The only composed resources that there may be, named as in resources."`
	Count      map[string]int       `json:"count" doc:"How many composed resources there are: by Kind, by apiVersion/Kind, or in total."`
	Golden     Golden               `json:"golden" doc:"A file that holds what is expected, compared by structure. xfn test writes it when it updates golden files."`
	Results    []Result             `json:"results" single:"" doc:"What functions have to report, each matched by at least one result."`
	Conditions map[string]Condition `json:"conditions" doc:"Conditions of the composite resource by type, such as Ready."`
	Ready      Ready                `json:"ready" doc:"Whether the composite resource is ready in the end, or which resources are."`
	Passes     *int                 `json:"passes" doc:"After at most how many passes nothing changes any more (see observe)."`
	Context    map[string]Matcher   `json:"context" doc:"What functions leave in the context, by path: keys with dots in brackets."`
	Connection map[string]Matcher   `json:"connectionDetails" doc:"Connection details of the composite resource, by key."`
	Valid      Valid                `json:"valid" doc:"Whether what is composed, and the composite resource, fit the schemas that the case names, and its XRD. If so, the patches of its Composition have to fit them, too, as far as its validation mode makes that an error."`
	CEL        []string             `json:"cel" single:"" doc:"CEL expressions that have to be true of xr, resources (objects by name), results and context."`
	Fatal      *Text                `json:"fatal" doc:"The fatal result that a function has to return. Then nothing else counts."`
	Error      *Text                `json:"error" doc:"The error that the render has to end with. Then nothing else counts."`
}

// A Matcher says what is expected of a field. All that it says has to hold.
type Matcher struct {
	Value   *manifest.Value `short:"" doc:"The value that the field has to have."`
	Equals  *manifest.Value `json:"equals" doc:"The value that the field has to have; 1 is 1.0."`
	Matches *string         `json:"matches" doc:"A regular expression (RE2) that the field's text has to match somewhere."`
	Exists  *bool           `json:"exists" doc:"Whether the field has to be there."`
	Absent  *bool           `json:"absent" doc:"Whether the field must not be there."`
	In      []any           `json:"in" doc:"The values of which the field has to have one."`
	Length  *int            `json:"length" doc:"How many characters, elements or keys the field has to have."`
	CEL     *string         `json:"cel" doc:"A CEL expression that has to be true. The field is self; there are xr, resources, results and context, too."`
}

// A Text is what is expected of words.
type Text struct {
	Contains *string `json:"contains" short:"" doc:"What the text has to contain."`
	Equals   *string `json:"equals" doc:"The whole text."`
	Matches  *string `json:"matches" doc:"A regular expression (RE2) that the text has to match somewhere."`
}

// A Resource is what is expected of a composed resource.
type Resource struct {
	State  string             `short:"" enum:"present,absent" doc:"Whether there has to be such a resource."`
	Fields map[string]Matcher `whole:"" doc:"Fields by their paths, and what is expected of each. The resource has to be there, if only for {}."`
}

// Golden names files that hold what is expected.
type Golden struct {
	File      string            `json:"file" short:"" doc:"File of the composite resource and all that is composed, as xfn render prints it."`
	XR        string            `json:"xr" doc:"File of the composite resource alone."`
	Resources map[string]string `json:"resources" doc:"Files of single composed resources, named as in expect.resources."`
}

// A Result is a result of a function that has to be there.
type Result struct {
	Severity string `json:"severity" enum:"Normal,Warning" doc:"How severe it is. A fatal result is expected by fatal."`
	Message  *Text  `json:"message" doc:"Its message: what it contains, or {equals} or {matches}."`
	Reason   *Text  `json:"reason" doc:"Its reason."`
	Step     string `json:"step" doc:"The pipeline step whose function returned it."`
	Absent   bool   `json:"absent" doc:"That there must be none such."`
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
	Resources []string `json:"resources" single:"" doc:"Composed resources that functions have to call ready."`
	Unready   []string `json:"unready" single:"" doc:"Composed resources that functions must not call ready."`
	After     *int     `json:"after" doc:"After at most how many passes the composite resource is ready. The case observes as often, if it does not say how often."`
}

// Valid is what is expected of objects, given their schemas.
type Valid struct {
	All    *bool    `json:"all" short:"" doc:"Whether all fit, and each has a schema. Kinds of Kubernetes itself need none to be named."`
	Ignore []string `json:"ignore" single:"" doc:"Kinds that are not judged and need no schema, as Kind or apiVersion/Kind. Composition is one."`
}
