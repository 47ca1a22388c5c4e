package spec

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/render"
)

// The type of a document that contains a suite.
const (
	APIVersion = "xfn.dev/v1alpha1"
	Kind       = "TestSuite"
)

type file struct {
	APIVersion string     `json:"apiVersion" required:"" enum:"xfn.dev/v1alpha1" doc:"The version of this format."`
	Kind       string     `json:"kind" required:"" enum:"TestSuite"`
	Metadata   Metadata   `json:"metadata"`
	Defaults   CaseSpec   `json:"defaults" doc:"Values for all cases. The context, mocks and expect of a case are merged with these, key by key; null removes a key. Any other field of a case replaces the default."`
	Cases      []CaseSpec `json:"cases" required:"" doc:"The cases. Each renders one composite resource or Operation and checks the output."`
}

// Metadata names a suite.
type Metadata struct {
	Name        string            `json:"name" doc:"Name of the suite in reports. The default is the file's path."`
	Labels      map[string]string `json:"labels" doc:"For your own use."`
	Annotations map[string]string `json:"annotations" doc:"For your own use."`
}

// CaseSpec is the content of a case. Paths are relative to the suite's file.
type CaseSpec struct {
	Name    string   `json:"name" doc:"Name of the case in reports. It may contain ${each.key}; otherwise the cases of a table are numbered from 1."`
	Skip    string   `json:"skip" doc:"The reason why the case does not run."`
	Each    []any    `json:"each" doc:"A table: the case runs once for each element. ${each.key} in strings and keys is replaced by the element's field. A string that is exactly ${each.key} becomes the value with its type."`
	Timeout Duration `json:"timeout" doc:"Timeout of the case, such as 30s."`

	XR          XR                `json:"xr" doc:"The composite resource: a file, the object itself, or a patch of another one."`
	XRD         Source            `json:"xrd" doc:"The CompositeResourceDefinition: a file, or the object itself. It sets the defaults and the scope of the XR. The case fails with an error if an API server would refuse the XR."`
	Composition Source            `json:"composition" doc:"The Composition: a file, or the object itself."`
	Operation   Source            `json:"operation" doc:"The Operation, CronOperation or WatchOperation to render, in place of xr and composition: a file, or the object itself."`
	Watched     Source            `json:"watched" doc:"The resource for which a WatchOperation makes the Operation: a file, or the object itself."`
	Functions   []Source          `json:"functions" single:"" doc:"Functions: files, folders or objects. Optional if each step is a builtin or mocked."`
	Observed    []Source          `json:"observed" single:"" doc:"Existing composed resources: files, folders or objects."`
	Required    []Source          `json:"required" single:"" doc:"Resources that functions may require: files, folders or objects."`
	Extra       []Source          `json:"extraResources" single:"" doc:"Resources for functions that request extra resources: files, folders or objects."`
	Credentials []Source          `json:"credentials" single:"" doc:"Secrets for the functions' credentials: files, folders or objects."`
	OpenAPI     []string          `json:"requiredSchemas" single:"" doc:"JSON files or folders of OpenAPI schemas that functions may require."`
	Context     map[string]any    `json:"context" doc:"Context of the first function, by key."`
	ContextFile map[string]string `json:"contextFiles" doc:"Files with context of the first function, by key."`
	Observe     Observe           `json:"observe" doc:"Add the output to the observed state and render again, until nothing changes."`
	Invalid     bool              `json:"allowInvalid" doc:"Whether to render the composite resource even if an API server would refuse it."`
	Profile     string            `json:"profile" enum:"v2,classic,v1.20,v1.14,alpha" doc:"The Crossplane to imitate."`
	Crossplane  string            `json:"crossplaneVersion" doc:"Version of the Crossplane to imitate, such as v1.20. Overrides profile."`
	Features    map[string]bool   `json:"features" doc:"Features of Crossplane to switch on or off, by the names of its flags without the prefix enable-, such as composition-functions-extra-resources: false."`
	Mocks       map[string]Mock   `json:"mocks" doc:"Mocks of pipeline steps, by step name."`
	Schemas     []Source          `json:"schemas" single:"" doc:"CRDs and XRDs for expect.valid: files, folders or objects."`

	Expect Expect `json:"expect" doc:"The expected output. If empty, the render must succeed."`
}

// A Source is a file, or an object that is written in the suite instead.
type Source struct {
	File   string         `short:"" doc:"Path of a file."`
	Object map[string]any `whole:"" doc:"The object itself."`
}

// An XR selects the composite resource to render.
type XR struct {
	File   string         `json:"file" short:"" doc:"File of the composite resource."`
	From   string         `json:"from" doc:"Name of the case whose composite resource is used."`
	Patch  map[string]any `json:"patch" doc:"A JSON merge patch (RFC 7386): objects merge, null removes, any other value replaces. Without file and from, it patches the composite resource of the defaults."`
	Object map[string]any `whole:"apiVersion,kind" doc:"The object itself."`
}

// Observe configures repeated renders with observed state.
type Observe struct {
	Passes   int      `json:"passes" min:"0" doc:"The maximum number of passes, including the first."`
	Fixtures []Source `json:"fixtures" single:"" doc:"Changes to observed resources between passes: files of kind ObserveFixtures, or single fixtures (match, ready, status, metadata, from)."`
}

// A Mock replaces the function of a step. Exactly one field is set.
type Mock struct {
	Response  map[string]any `json:"response" doc:"A RunFunctionResponse in the JSON form of protobuf. As in the function SDKs, desired state and context of earlier steps are kept unless it replaces them."`
	Recording string         `json:"recording" doc:"A recording of the function's calls, which is replayed."`
}

// Duration is a duration in Go's format.
type Duration struct{ time.Duration }

// UnmarshalText parses a duration with time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	if err != nil || d.Duration <= 0 {
		return errors.New("expected a time such as 30s or 2m")
	}
	return nil
}

// Status is the status of a condition.
type Status string

// UnmarshalText accepts True, False and Unknown in any case, because YAML may
// have read True as the boolean true.
func (s *Status) UnmarshalText(text []byte) error {
	for _, known := range []Status{"True", "False", "Unknown"} {
		if strings.EqualFold(string(text), string(known)) {
			*s = known
			return nil
		}
	}
	return errors.New("expected True, False or Unknown")
}

// JSONSchema allows the three statuses and the booleans that YAML reads.
func (Status) JSONSchema() map[string]any {
	return map[string]any{"enum": []any{"True", "False", "Unknown", true, false}}
}

// RenderProfile returns the profile that the case selects by version or name.
func (f CaseSpec) RenderProfile() (render.Profile, error) {
	if f.Crossplane == "" {
		return render.Profile(f.Profile), nil
	}
	return render.ForCrossplane(f.Crossplane)
}

// FieldFor returns the field of a case that a flag of xfn render sets, such as extraResources for
// extra-resources, or "".
func FieldFor(flag string) string {
	name := strings.ReplaceAll(flag, "-", "")
	for f := range reflect.TypeFor[CaseSpec]().Fields() {
		field := f.Tag.Get("json")
		if strings.EqualFold(field, name) || strings.EqualFold(field+"resources", name) {
			return field
		}
	}
	return ""
}

// Schema returns the JSON Schema of a suite's file.
func Schema() map[string]any {
	s := manifest.JSONSchema(reflect.TypeFor[file]())
	s["title"] = "xfn TestSuite"
	s["description"] = "A suite of `xfn test`: the expected output of Compositions for composite resources."
	return s
}

// Expect is the expected output of a render.
type Expect struct {
	XR         map[string]Matcher   `json:"xr" doc:"Fields of the composite resource by their paths, such as status.url or metadata.labels[example.org/team], with the expectations of each."`
	Operation  map[string]Matcher   `json:"operation" doc:"Fields of the Operation by their paths, such as status.pipeline[0].output.count, with the expectations of each."`
	Resources  map[string]Resource  `json:"resources" doc:"Composed resources, or resources that an Operation applies, by their names in the pipeline, by Kind/name, or by kind if only one resource has it."`
	Only       []string             `json:"only" single:"" doc:"All composed resources, named as in resources. Any other composed resource is a failure."`
	Count      map[string]int       `json:"count" min:"0" doc:"The number of composed resources: by Kind, by apiVersion/Kind, or total."`
	Objects    []map[string]any     `json:"objects" single:"" doc:"Objects that the output must contain. Each is compared with the first document that has its apiVersion, its kind, its name and its annotations. The document may have more fields; lists must be equal. Documents are the composite resource or Operation with all of its fields, the resources, and the documents of kind Result and Context that xfn render prints."`
	Assertions []Assertion          `json:"assertions" single:"" doc:"Assertions about all rendered resources of a kind, with the types and the rules of xprin."`
	Golden     Golden               `json:"golden" doc:"A file with the expected output, compared by structure. xfn test writes it when it updates golden files."`
	Results    []Result             `json:"results" single:"" doc:"Results that functions must return. At least one result must match each."`
	Conditions map[string]Condition `json:"conditions" doc:"Conditions of the composite resource or Operation by type, such as Ready."`
	Ready      Ready                `json:"ready" doc:"Whether the composite resource is ready after the last pass, or which resources are."`
	Passes     *int                 `json:"passes" min:"1" doc:"The maximum number of passes until nothing changes (see observe)."`
	Context    map[string]Matcher   `json:"context" doc:"Context after the last function, by path. Write keys with dots in brackets."`
	Connection map[string]Matcher   `json:"connectionDetails" doc:"Connection details of the composite resource, by key."`
	Valid      Valid                `json:"valid" doc:"Whether the composite resource and the composed resources are valid by the schemas of the case and by its XRD. If true, the Composition's patches must also be valid, except for violations that are warnings in its validation mode."`
	CEL        []string             `json:"cel" single:"" doc:"CEL expressions that must be true. Variables are xr, operation, resources (objects by name), results and context."`
	Fatal      *Text                `json:"fatal" doc:"The fatal result that a function must return. Other expectations are ignored."`
	Error      *Text                `json:"error" doc:"The error with which the render must fail. Other expectations are ignored."`
}

// A Matcher is the expectation of a field. Each of its fields must be met.
type Matcher struct {
	Value   *manifest.Value `short:"" doc:"The expected value of the field."`
	Equals  *manifest.Value `json:"equals" doc:"The expected value of the field; 1 equals 1.0."`
	Matches *string         `json:"matches" doc:"A regular expression (RE2) that must match a part of the field's string."`
	Exists  *bool           `json:"exists" doc:"Whether the field must exist."`
	Absent  *bool           `json:"absent" doc:"Whether the field must not exist."`
	In      []any           `json:"in" doc:"The allowed values of the field."`
	Length  *int            `json:"length" min:"0" doc:"The number of characters, elements or keys of the field."`
	CEL     *string         `json:"cel" doc:"A CEL expression that must be true. Variables are self (the field), xr, operation, resources, results and context."`
}

// An Assertion is a check of the composite resource and the composed resources, by their kinds
// and names.
type Assertion struct {
	Name     string          `json:"name" doc:"Name of the assertion in messages."`
	Type     string          `json:"type" required:"" doc:"Count, Exists, NotExists, FieldExists, FieldNotExists, FieldType, FieldValue, Diff or Dyff. Checks of fields must hold for each resource; without any resource, they fail. Diff compares the text with the file expected, Dyff the structure."`
	Resource string          `json:"resource" doc:"The resources as Kind or Kind/name, in which * stands for any text. Diff and Dyff accept one Kind/name, and without it compare the whole output."`
	Field    string          `json:"field" doc:"Keys of the field, with dots between them. Elements of lists cannot be named."`
	Operator string          `json:"operator" doc:"The operator of FieldValue: == or is, which compare values as text."`
	Value    *manifest.Value `json:"value" doc:"The expected value, type (string, number, boolean, array, object or null) or number of resources."`
	Expected string          `json:"expected" doc:"The golden file of Diff and Dyff."`
}

// A Text is the expectation of a string.
type Text struct {
	Contains *string `json:"contains" short:"" doc:"A string that the text must contain."`
	Equals   *string `json:"equals" doc:"The whole text."`
	Matches  *string `json:"matches" doc:"A regular expression (RE2) that must match a part of the text."`
}

// A Resource is the expectation of a composed resource.
type Resource struct {
	State  string             `short:"" enum:"present,absent" doc:"Whether the resource must exist."`
	Fields map[string]Matcher `whole:"" doc:"Fields by their paths, with the expectations of each. The resource must exist, even if this is {}."`
}

// Golden names the golden files with the expected output.
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

// A Condition is the expectation of a condition of the XR.
type Condition struct {
	Status  Status `json:"status" short:"" doc:"True, False or Unknown."`
	Reason  *Text  `json:"reason" doc:"Its reason."`
	Message *Text  `json:"message" doc:"Its message."`
}

// Ready is the expectation of readiness.
type Ready struct {
	XR        *bool    `json:"xr" short:"" doc:"Whether the composite resource is ready."`
	Resources []string `json:"resources" single:"" doc:"Composed resources that functions must report as ready."`
	Unready   []string `json:"unready" single:"" doc:"Composed resources that functions must not report as ready."`
	After     *int     `json:"after" min:"1" doc:"The maximum number of passes until the composite resource is ready. It is also the number of passes if observe does not set passes."`
}

// Valid is the expected result of validation by schemas.
type Valid struct {
	All    *bool    `json:"all" short:"" doc:"Whether all objects are valid and have a schema. Schemas of Kubernetes' own kinds are built in."`
	Ignore []string `json:"ignore" single:"" doc:"Kinds that are not validated and need no schema, as Kind or apiVersion/Kind. Composition is a valid kind, too."`
}
