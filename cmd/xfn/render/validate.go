package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/internal/session"
)

type validateFlags struct {
	Validate bool     `help:"Validate composite resources and the output. The schemas are the XRD, --crd and the kinds of Kubernetes. Errors are printed to stderr, and the command fails."`
	CRD      []string `more:"" name:"crd" sep:"none" placeholder:"PATH" help:"CRDs and XRDs for --validate: a file, a folder, or a package by file or reference. Repeatable."`
}

// A validation validates the inputs and outputs of renders. The zero value does nothing.
type validation struct {
	term *terminal.Terminal
	v    *validate.Validator
	// faulty is the number of invalid objects. reported has kinds without a definition
	// and invalid definitions, which are printed once.
	faulty   int
	reported map[string]bool
}

// validation loads the definitions of --validate. Packages to which files of
// --xrd and --compositions refer are not fetched.
func (c *Cmd) validation(ctx context.Context, term *terminal.Terminal, p terminal.Program, in session.Inputs, from projectInputs, files manifest.Reader) (*validation, error) {
	if !c.Validate {
		if len(c.CRD) > 0 {
			return nil, &terminal.UsageError{Err: errors.New("--crd requires --validate")}
		}
		return &validation{}, nil
	}
	local := slices.DeleteFunc(slices.Concat([]string{from.file(c.XRD)}, c.Compositions), func(s string) bool { return s == "" })
	if slices.Contains(slices.Concat(local, c.CRD), manifest.Stdin) {
		return nil, &terminal.UsageError{Err: errors.New("--validate cannot read definitions from standard input")}
	}
	o := inspect.CRDOptions{Files: manifest.Reader{FS: files.FS, Streams: files.Streams}, Registry: c.Registry, Progress: term.Progress, Offline: true}
	all, err := inspect.CollectCRDs(ctx, local, o)
	if err != nil {
		return nil, fmt.Errorf("loading definitions: %w", err)
	}
	o.Offline, o.Follow, o.Remote = c.Offline, inspect.FollowAll, c.Client(p)
	more, err := inspect.CollectCRDs(ctx, c.CRD, o)
	if err != nil {
		return nil, fmt.Errorf("loading definitions: %w", err)
	}
	all = slices.Concat(all, more)
	v := inspect.NewValidator(all, validate.Options{Namespace: validate.DefaultNamespace, Composition: check.ForValidation(check.Options{Mode: check.ModeFor(in.Features), Inputs: append(builtin.Inputs(), inspect.FunctionInputs(all)...)}), Crossplane: session.Release(in.Profile)})
	return &validation{term: term, v: v, reported: map[string]bool{}}, nil
}

// check validates the input XR of r as an API server does when kubectl applies the XR,
// and the output of r as an API server does when Crossplane applies the output.
func (v *validation) check(ctx context.Context, r session.Result) {
	if v.v == nil {
		return
	}
	if r.Document.Text != nil {
		for _, found := range v.v.Document(ctx, r.Document) {
			v.print(r, "", "", found)
		}
	}
	if r.Err != nil {
		return
	}
	composed := v.v.ComposedBy(r.XR)
	for _, obj := range r.Composed {
		for _, found := range composed.Objects(ctx, obj) {
			v.print(r, reconciler.ResourceName(obj), fmt.Sprintf("composed resource %q", cmp.Or(reconciler.ResourceName(obj), (&unstructured.Unstructured{Object: obj}).GetName())), found)
		}
	}
	v.status(ctx, r)
}

// status validates the status of the rendered XR. check has validated its other fields.
func (v *validation) status(ctx context.Context, r session.Result) {
	xr := maps.Clone(r.XR)
	if doc, err := r.Document.Object(); err == nil && doc["kind"] == xr["kind"] {
		xr["spec"], xr["metadata"] = doc["spec"], doc["metadata"]
	}
	for _, found := range v.v.Objects(ctx, xr) {
		found.Faults = slices.DeleteFunc(found.Faults, func(f validate.Fault) bool {
			return f.Field != "status" && !strings.HasPrefix(f.Field, "status.")
		})
		if len(found.Faults) > 0 {
			v.print(r, "", "the composite resource", found)
		}
	}
}

// print prints the faults of an object. template is the name of the template of a composed resource.
func (v *validation) print(r session.Result, template, what string, found validate.Result) {
	kind := fmt.Sprintf("%s of %s", found.Kind, found.APIVersion)
	switch {
	case found.Status == validate.Valid:
		if found.Partial && v.once(found.Kind) {
			v.term.Note(validate.PartialNote(found.Kind))
		}
		return
	case found.Status == validate.NoSchema:
		if len(found.Faults) == 0 && v.once(kind) {
			v.term.Warn(kind + " is not validated, because it has no definition")
		}
		return
	case found.Path != "" && found.Path != r.Document.Path:
		what = fmt.Sprintf("definition %q", found.Name)
		if !v.once(what) {
			return
		}
	}
	v.faulty++
	for _, f := range found.Faults {
		at, what := r.Source, what
		if found.Path != "" && f.Line > 0 {
			at = manifest.Position(found.Path, f.Line)
		} else if place := composition.OutputField(r.Composition, template, found.Kind, f.Field); place != "" {
			at, what = place, what+" of "+r.Source
		}
		parts := slices.DeleteFunc([]string{at, what, kind, f.String()}, func(s string) bool { return s == "" })
		v.term.Fault(errors.New(strings.Join(parts, ": ")))
	}
}

func (v *validation) once(what string) bool {
	was := v.reported[what]
	v.reported[what] = true
	return !was
}

func (v *validation) verdict() error {
	if v.faulty == 0 {
		return nil
	}
	return fmt.Errorf("validating: %s invalid", terminal.Count(v.faulty, "object"))
}
