package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/image/crds"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/internal/session"
)

// validateFlags say by what to judge what goes in and comes out.
type validateFlags struct {
	Validate bool     `help:"Judge composite resources by their XRD, and what was rendered by --crd and the kinds of Kubernetes. What is invalid is told on stderr, and fails."`
	CRD      []string `name:"crd" sep:"none" placeholder:"PATH" help:"CRDs and XRDs for --validate: a file, a folder, or a package by file or reference. Repeatable."`
}

// A validation judges what goes into renders, and what comes of them. The zero
// value judges nothing.
type validation struct {
	term *terminal.Terminal
	v    *validate.Validator
	// faulty is how many objects are invalid, and said what is not said again:
	// what kinds nothing defines, and what is wrong with definitions.
	faulty int
	said   map[string]bool
}

// validation reads the definitions. Packages that lie beside them are not fetched.
func (c *Cmd) validation(ctx context.Context, term *terminal.Terminal, p terminal.Program) (*validation, error) {
	if !c.Validate {
		if len(c.CRD) > 0 {
			return nil, &terminal.UsageError{Err: errors.New("--crd goes with --validate")}
		}
		return &validation{}, nil
	}
	local := slices.Concat([]string{c.XRD}, c.Compositions)
	local = slices.DeleteFunc(local, func(s string) bool { return s == "" })
	if slices.Contains(slices.Concat(local, c.CRD), manifest.Stdin) {
		return nil, &terminal.UsageError{Err: errors.New("--validate reads no definitions from standard input")}
	}
	o := crds.Options{Files: manifest.Reader{FS: afero.NewOsFs()}, Registry: c.Registry, Progress: term.Progress, Offline: true}
	all, err := crds.Collect(ctx, local, o)
	if err != nil {
		return nil, fmt.Errorf("loading definitions: %w", err)
	}
	o.Offline, o.Follow, o.Remote = c.Offline, crds.FollowAll, c.Client(p)
	more, err := crds.Collect(ctx, c.CRD, o)
	if err != nil {
		return nil, fmt.Errorf("loading definitions: %w", err)
	}
	return &validation{term: term, v: crds.Validator(slices.Concat(all, more), validate.Options{Composition: check.ForValidation(check.ByAnnotation)}), said: map[string]bool{}}, nil
}

// take judges the XR of a result as an API server would take it from kubectl, and
// what was rendered of it as one would from Crossplane.
func (v *validation) take(ctx context.Context, r session.Result) error {
	if v.v == nil {
		return nil
	}
	if r.Document.Text != nil {
		err := v.v.In(fallback).Documents(ctx, one(r.Document), func(found validate.Result) error {
			v.tell(r, "", found)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if r.Err != nil {
		return nil
	}
	composed := v.v.In(v.namespace(r))
	for _, obj := range r.Composed {
		for _, found := range composed.Objects(ctx, obj) {
			v.tell(r, fmt.Sprintf("composed resource %q", cmp.Or(reconciler.ResourceName(obj), (&unstructured.Unstructured{Object: obj}).GetName())), found)
		}
	}
	v.status(ctx, r)
	return nil
}

// namespace is that which composed resources have if they name none: that of an XR
// that names none either.
func (v *validation) namespace(r session.Result) string {
	xr := unstructured.Unstructured{Object: r.XR}
	if v.v.ClusterScoped(xr.GroupVersionKind().GroupKind()) {
		return ""
	}
	return fallback
}

// fallback is the namespace that kubectl gives.
const fallback = "default"

func one(doc manifest.Document) iter.Seq2[manifest.Document, error] {
	return func(yield func(manifest.Document, error) bool) { yield(doc, nil) }
}

// status judges the status that an XR has by now. Its other fields were judged.
func (v *validation) status(ctx context.Context, r session.Result) {
	xr := maps.Clone(r.XR)
	if doc, err := r.Document.Object(); err == nil && doc["kind"] == xr["kind"] {
		xr["spec"], xr["metadata"] = doc["spec"], doc["metadata"]
	}
	for _, found := range v.v.In(fallback).Objects(ctx, xr) {
		found.Faults = slices.DeleteFunc(found.Faults, func(f validate.Fault) bool {
			return f.Field != "status" && !strings.HasPrefix(f.Field, "status.")
		})
		if len(found.Faults) > 0 {
			v.tell(r, "the composite resource", found)
		}
	}
}

// tell prints what is wrong with an object.
func (v *validation) tell(r session.Result, what string, found validate.Result) {
	kind := fmt.Sprintf("%s of %s", found.Kind, found.APIVersion)
	switch {
	case found.Status == validate.Valid:
		return
	case found.Status == validate.NoSchema:
		if len(found.Faults) == 0 && v.once(kind) {
			v.term.Warn("there is no definition of " + kind + ", so that it is not validated")
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
		at := r.Source
		if found.Path != "" && f.Line > 0 {
			at = manifest.Document{Path: found.Path, Line: f.Line}.Position()
		}
		parts := slices.DeleteFunc([]string{at, what, kind, f.String()}, func(s string) bool { return s == "" })
		v.term.Fault(errors.New(strings.Join(parts, ": ")))
	}
}

// once reports whether something is to be said, which it is once.
func (v *validation) once(what string) bool {
	was := v.said[what]
	v.said[what] = true
	return !was
}

// verdict returns an error if something was invalid.
func (v *validation) verdict() error {
	if v.faulty == 0 {
		return nil
	}
	return fmt.Errorf("validating: %s invalid", terminal.Count(v.faulty, "object"))
}
