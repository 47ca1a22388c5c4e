package spec

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/render"
)

// The type of a document that holds a suite.
const (
	APIVersion = "xfn.dev/v1alpha1"
	Kind       = "TestSuite"
)

// file is the whole of a suite's file.
type file struct {
	APIVersion string   `json:"apiVersion" required:"" enum:"xfn.dev/v1alpha1" doc:"The version of this format."`
	Kind       string   `json:"kind" required:"" enum:"TestSuite"`
	Metadata   Metadata `json:"metadata"`
	Defaults   Form     `json:"defaults" doc:"What holds for every case that does not say otherwise. What a case says of context, mocks and expect is added to what is said here, key by key; null takes a key out. All else takes its place."`
	Cases      []Form   `json:"cases" required:"" doc:"The cases. Each renders one composite resource, and says what to expect of it."`
}

// Metadata names a suite.
type Metadata struct {
	Name        string            `json:"name" doc:"What reports call the suite. Else it is the file's path."`
	Labels      map[string]string `json:"labels" doc:"For your own use."`
	Annotations map[string]string `json:"annotations" doc:"For your own use."`
}

// A Form is what a case may say. Paths are relative to the suite's file.
type Form struct {
	Name    string   `json:"name" doc:"What reports call the case. It may hold ${each.key}; else the cases of a table are numbered from 1."`
	Skip    string   `json:"skip" doc:"Why the case does not run, for now."`
	Each    []any    `json:"each" doc:"A table: the case runs once for each element, whose fields stand for ${each.key} wherever a string says so, keys included. A string that is nothing but ${each.key} becomes the value with its type."`
	Timeout Duration `json:"timeout" doc:"How long the case may take, as 30s."`

	XR          XR                `json:"xr" doc:"The composite resource: a file, the object itself, or a patch of another one."`
	XRD         string            `json:"xrd" doc:"File of the composite resource's definition, for its defaults and scope."`
	Composition Source            `json:"composition" doc:"The Composition: a file, or the object itself."`
	Functions   []Source          `json:"functions" single:"" doc:"Functions: files, folders or the objects themselves. May be left out if each step is a builtin or mocked."`
	Observed    []Source          `json:"observed" single:"" doc:"The composed resources that exist already: files, folders or objects."`
	Required    []Source          `json:"required" single:"" doc:"Resources that functions may require: files, folders or objects."`
	Extra       []Source          `json:"extraResources" single:"" doc:"The same, for functions that ask for extra resources."`
	Credentials []Source          `json:"credentials" single:"" doc:"Secrets for the functions' credentials: files, folders or objects."`
	OpenAPI     []string          `json:"requiredSchemas" single:"" doc:"JSON files or folders of OpenAPI schemas that functions may require."`
	Context     map[string]any    `json:"context" doc:"What the first function finds in its context, by key."`
	ContextFile map[string]string `json:"contextFiles" doc:"The same, out of files."`
	Observe     Observe           `json:"observe" doc:"Observe what was rendered and render again, until nothing changes."`
	Profile     string            `json:"profile" enum:"v2,classic,v1.20,v1.14,alpha" doc:"The Crossplane to imitate."`
	Crossplane  string            `json:"crossplaneVersion" doc:"The same by its version, as v1.20. Beats profile."`
	Mocks       map[string]Mock   `json:"mocks" doc:"What stands in for steps of the pipeline, by their names."`
	Schemas     []Source          `json:"schemas" single:"" doc:"CRDs and XRDs for expect.valid: files, folders or objects."`

	Expect Expect `json:"expect" doc:"What has to come of it. With nothing here, the render has to succeed."`
}

// A Source is a file, or an object in its place.
type Source struct {
	File   string         `short:"" doc:"Path of a file."`
	Object map[string]any `whole:"" doc:"The object itself."`
}

// An XR says which composite resource is rendered.
type XR struct {
	File   string         `json:"file" short:"" doc:"Path of the file that holds it."`
	From   string         `json:"from" doc:"Name of the case whose composite resource is taken."`
	Patch  map[string]any `json:"patch" doc:"A JSON merge patch (RFC 7386) of it: objects merge, null removes, all else takes the place of what was there. Without file and from it is one of the defaults' composite resource."`
	Object map[string]any `whole:"apiVersion,kind" doc:"The object itself."`
}

// Observe is how often what was rendered is observed.
type Observe struct {
	Passes   int      `json:"passes" doc:"The most passes, the first one included."`
	Fixtures []Source `json:"fixtures" single:"" doc:"What comes to observed resources in between: files of kind ObserveFixtures, or single fixtures (match, ready, status, metadata, from)."`
}

// A Mock answers for a step. Exactly one of its fields is set.
type Mock struct {
	Response  map[string]any `json:"response" doc:"A RunFunctionResponse in the JSON form of protobuf. As with functions made by an SDK, desired state and context of earlier steps are kept where it does not replace them."`
	Recording string         `json:"recording" doc:"A recording of the function's calls to answer from."`
}

// Duration is a time in Go's form.
type Duration struct{ time.Duration }

// UnmarshalText reads the form of time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	if err != nil || d.Duration <= 0 {
		return errors.New("expected a time such as 30s or 2m")
	}
	return nil
}

// Status is that of a condition.
type Status string

// UnmarshalText takes True, False and Unknown, which YAML may have taken for
// booleans.
func (s *Status) UnmarshalText(text []byte) error {
	for _, known := range []Status{"True", "False", "Unknown"} {
		if strings.EqualFold(string(text), string(known)) {
			*s = known
			return nil
		}
	}
	return errors.New("expected True, False or Unknown")
}

// JSONSchema is that of the three, and of what YAML makes of them.
func (Status) JSONSchema() map[string]any {
	return map[string]any{"enum": []any{"True", "False", "Unknown", true, false}}
}

// RenderProfile returns the profile that the case asks for.
func (f Form) RenderProfile() (render.Profile, error) {
	if f.Crossplane == "" {
		return render.Profile(f.Profile), nil
	}
	return render.ForCrossplane(f.Crossplane)
}

// Schema returns the JSON Schema of a suite's file.
func Schema() map[string]any {
	s := manifest.JSONSchema(reflect.TypeFor[file]())
	s["title"] = "xfn TestSuite"
	s["description"] = "A suite of `xfn test`: what Compositions have to make of composite resources."
	return s
}
