package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/afero"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition/check"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/internal/session"
)

// Cmd is xfn validate.
type Cmd struct {
	Extensions string `arg:"" optional:"" name:"schemas" help:"XRDs, CRDs and MRDs: files, folders, package files and references of packages, separated by commas, or - for stdin. Packages that YAML files name are read, too. Default, in a project: its APIs and dependencies."`
	Resources  string `arg:"" optional:"" surplus:"separate several paths by commas, as in a.yaml,b.yaml" help:"Files and folders of resources, separated by commas, or - for stdin. Default, in a project: its examples."`

	Format                string   `short:"o" aliases:"output" empty:"" enum:",text,json,yaml,junit,sarif,gitlab" default:"text" help:"Print text,json,yaml,junit,sarif,gitlab: sarif for code scanning, gitlab for GitLab's code quality. Default: ${default}."`
	Old                   []string `more:"" sep:"none" placeholder:"PATH" help:"File or folder of the old versions of the resources, for rules about changes. Repeatable."`
	Namespace             string   `more:"" empty:"" short:"n" default:"default" placeholder:"NAME" help:"The namespace of resources that do not set their namespace, as in kubectl. If it is empty, resources must set their namespace. Default: ${default}."`
	SkipSuccessResults    bool     `help:"Print nothing about resources that are valid, except in JSON and YAML."`
	ErrorOnMissingSchemas bool     `help:"Fail if there is no schema for a resource."`
	CompositionMode       string   `more:"" empty:"" enum:",warn,loose,strict" default:"" placeholder:"MODE" help:"Which problems of a Composition's patches are errors. warn: only problems that are found without schemas; loose: also violations of schemas; strict: also missing schemas. Default: the mode in its annotation, or warn."`
	CrossplaneVersion     string   `more:"" placeholder:"VERSION" help:"The version of Crossplane whose kinds are valid, v1.11 or later. Default: v2.3."`
	Dependencies          string   `more:"" enum:"none,configurations,all" default:"all" help:"Packages whose dependencies are read, too: ${enum}. Default: ${default}."`
	Offline               bool     `help:"Fetch nothing. Of the packages that files name, read only cached packages of functions."`

	// These flags of the crossplane CLI have no effect: kinds are built in, and there is
	// no cache, because only a few kilobytes of a package are fetched.
	CacheDir        string `hidden:""`
	CleanCache      bool   `hidden:""`
	UpdateCache     bool   `hidden:""`
	CrossplaneImage string `hidden:""`
	terminal.Summary
	flags.Git
	flags.Registries
	flags.FunctionCache
	flags.Lock
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Validates resources as an API server with the schemas does: unknown fields, types, formats, defaults, CEL rules, names, labels and namespaces. The kinds of Kubernetes and of Crossplane are built in. For kinds of Kubernetes, required fields and the further rules of the API server are not checked; the patches of a Composition are validated, too. Nothing is fetched unless a package is named by its reference.

Examples:

    xfn validate
    xfn validate definition.yaml xr.yaml
    xfn validate crds/,hello.xpkg,registry.example.org/acme/provider:v1.2.0 .
    xfn render xr.yaml composition.yaml functions.yaml -x |
        xfn validate definition.yaml -
    xfn validate definition.yaml xr.yaml --old cluster.yaml --format junit

Exit codes: 0 all valid, 1 some invalid, 2 usage error.
`
}

// Run validates resources and prints the results.
func (c *Cmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) (err error) {
	if err := c.Load(); err != nil {
		return err
	}
	out := newOutput(c.Format, term, c.SkipSuccessResults, c.ErrorOnMissingSchemas)
	o := inspect.CRDOptions{
		Files: manifest.Reader{FS: afero.NewOsFs(), Stdin: term.Stdin, Warn: term.WarnOnce()}, Remote: c.Client(p), Registry: c.Registry,
		Follow: inspect.Follow(c.Dependencies), Offline: c.Offline, Lock: c.Content(), Progress: term.Progress, Faulty: out.faulty,
		Skip: builtin.Policy{}.Replaces, // The inputs of builtins are known.
	}
	schemas, resources, err := c.paths(ctx, term, &o)
	if err != nil {
		return err
	}
	if err := flags.CheckStdin(slices.Concat(schemas, resources, c.Old)...); err != nil {
		return &terminal.UsageError{Err: err}
	}
	var release schema.Release
	if c.CrossplaneVersion != "" {
		profile, err := flags.Profile(c.CrossplaneVersion)
		if err != nil {
			return &terminal.UsageError{Err: err}
		}
		release = session.Release(profile)
	}
	if o.Offline {
		if o.Cache = c.Cache().OpenExisting(); o.Cache != nil {
			defer func() { err = errors.Join(err, o.Cache.Close()) }()
		}
	}
	packages := false // The schemas name packages, which may not be read.
	o.Visit = func(doc manifest.Document, obj map[string]any) {
		apiVersion, _ := obj["apiVersion"].(string)
		packages = packages || strings.Contains(apiVersion, "pkg.crossplane.io/")
		if crd.Defines(obj) {
			out.keys(doc)
			out.undeclared(doc, obj)
		}
	}
	definitions, err := inspect.CollectCRDs(ctx, schemas, o)
	if err != nil {
		return err
	}
	undefined := ""
	if len(definitions) == 0 && out.broken+out.unread == 0 {
		if !packages && c.Extensions != "" && defines(definitionsIn(ctx, o.Files, resources), kindsIn(ctx, o.Files, schemas)) {
			return swapped(schemas, resources)
		}
		undefined = c.undefined(schemas)
	}
	old, err := validate.ReadOld(stream(ctx, o.Files, c.Old))
	if err != nil {
		return fmt.Errorf("loading the resources to replace: %w", err)
	}
	v := inspect.NewValidator(definitions, validate.Options{
		Namespace: c.Namespace, Old: old, Crossplane: release, Unused: out.unused,
		Composition: check.ForValidation(check.Options{Mode: check.Mode(c.CompositionMode), Inputs: append(builtin.Inputs(), inspect.FunctionInputs(definitions)...)}),
	})
	if err := v.Documents(ctx, stream(ctx, o.Files, resources), out.add); err != nil {
		return fmt.Errorf("validating resources: %w", err)
	}
	if undefined != "" && (c.Extensions != "" || out.counts.Total > 0) {
		term.Warn(undefined)
	}
	if out.counts.Total == 0 && c.Resources != "" {
		term.Warn(empty(o.Files, resources))
	}
	if len(out.undefined) > 0 && defines(definitionsIn(ctx, o.Files, resources), out.undefined) {
		term.Warn("CRDs and XRDs among the resources are not used as schemas\nhint: name their files among the schemas, too")
	}
	found := terminal.Findings{All: out.found, Command: "xfn validate", Program: p}
	_, err = found.Print(term, c.Format)
	if err := cmp.Or(err, out.finish()); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	sentence := strings.Join(append([]string{total(out.counts)}, out.lacks()...), "; ")
	return cmp.Or(c.Summary.Write(term, found, sentence), out.verdict())
}

// undefined returns the warning about schemas that define no kind.
func (c *Cmd) undefined(schemas []string) string {
	what, next := strings.Join(schemas, ","), "the order is schemas, resources, as in xfn validate definition.yaml xr.yaml"
	if c.Extensions == "" {
		what, next = "the project", "write an XRD for an example with xfn xrd generate"
	}
	return fmt.Sprintf("%s has no CRD and no XRD: only kinds of Kubernetes and Crossplane are validated\nhint: %s", what, next)
}

// swapped returns the error for arguments in the wrong order: only the resources have schemas.
func swapped(schemas, resources []string) error {
	given, others := strings.Join(schemas, ","), strings.Join(resources, ",")
	err := fmt.Errorf("%s has no CRD and no XRD, but %s has: the resources would not be validated against it", given, others)
	return &terminal.UsageError{Err: hint.Wrap(err, fmt.Sprintf("the order is schemas, resources: xfn validate %s %s", hint.Word(others), hint.Word(given)))}
}

type output struct {
	term *terminal.Terminal
	// quiet leaves out valid resources, except in JSON and YAML, as the crossplane CLI does.
	quiet bool
	// strict makes missing schemas errors.
	strict bool
	counts validate.Counts
	// partial are the kinds that were validated by their structure only.
	partial []string
	// undefined are the kinds of the resources without a schema.
	undefined []kschema.GroupKind
	// found are the faults, for reports about files.
	found []terminal.Annotation
	// lenient is the number of warnings that are errors in mode loose.
	lenient int
	// broken, unread and absent are numbers of inputs that cannot be read: definitions,
	// packages, and files of resources.
	broken, unread, absent int
	format
}

func newOutput(name string, term *terminal.Terminal, quiet, strict bool) *output {
	o := &output{term: term, quiet: quiet, strict: strict}
	switch name {
	case "json":
		o.format, o.quiet = &jsonFormat{w: term.Stdout}, false
	case "yaml":
		o.format, o.quiet = newYAMLFormat(term.Stdout), false
	case "junit":
		o.format = &junitFormat{w: term.Stdout}
	case terminal.SARIF, terminal.GitLab:
		o.format = noFormat{}
	default:
		o.format = textFormat{term, term.Excerpts(), strict}
	}
	return o
}

// faulty prints the error of a definition that cannot be read, and adds it to the reports.
func (o *output) faulty(err error) {
	if errors.As(err, new(*inspect.DependencyError)) {
		o.unread++
	} else {
		o.broken++
	}
	note := terminal.Annotation{Rule: "schema", Text: err.Error()}
	if in, ok := errors.AsType[*manifest.Error](err); ok {
		note.Path, note.Line = in.Path, in.Line
		note.Text = strings.TrimPrefix(note.Text, manifest.Position(in.Path, in.Line)+": ")
	}
	o.found = append(o.found, note)
	o.term.Fault(fmt.Errorf("reading schemas: %w", err))
}

// keys warns of the keys of a definition that are words such as y.
func (o *output) keys(doc manifest.Document) {
	for _, at := range doc.BooleanKeys() {
		o.found = append(o.found, terminal.Annotation{Warning: true, Rule: "schema", Path: at.Path, Line: at.Line, Text: at.Err.Error()})
		o.term.Warn(at.Error())
	}
}

// undeclared warns of the fields that an XRD requires without a declaration.
func (o *output) undeclared(doc manifest.Document, obj map[string]any) {
	defined, err := schema.Define(obj)
	if err != nil || len(defined) == 0 || !crd.IsXRD(obj) {
		return
	}
	for _, f := range defined[0].Undeclared() {
		note := terminal.Annotation{Warning: true, Rule: "schema", Path: doc.Path, Line: doc.Lines().Of(f.Field), Text: f.Field + ": " + f.Text + hint.DidYouMean(f.Nearest)}
		o.found = append(o.found, note)
		o.term.Warn(manifest.Position(note.Path, note.Line) + ": " + note.Text)
	}
}

// unused warns of the faults of a definition that no resource uses.
func (o *output) unused(r validate.Result) {
	for _, f := range r.Faults {
		note := note(r, f, o.strict)
		note.Warning = true
		o.found = append(o.found, note)
	}
	flags.WarnRefused(o.term, r)
}

func (o *output) add(r validate.Result) error {
	o.counts.Add(r)
	if r.Line == 0 && r.Kind == "" {
		o.absent++
	}
	if r.Status == validate.NoSchema {
		o.undefined = append(o.undefined, kschema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind())
	}
	if r.Partial && !slices.Contains(o.partial, r.Kind) {
		o.partial = append(o.partial, r.Kind)
	}
	if o.quiet && r.Status == validate.Valid && len(r.Faults) == 0 {
		return nil
	}
	r.Path, r.Faults = o.term.Redact(r.Path), slices.Clone(r.Faults)
	for i, f := range r.Faults {
		r.Faults[i].Text, r.Faults[i].Value = o.term.Redact(f.Text), redacted(f.Value, o.term.Redact)
		if f.ByMode {
			o.lenient++
		}
	}
	o.found = append(o.found, notes(r, o.strict)...)
	return o.result(r)
}

// notes returns the faults of a result, and that its schema is missing, which is an error if strict.
func notes(r validate.Result, strict bool) (all []terminal.Annotation) {
	if reason, _ := unusable(r); r.Status == validate.NoSchema && len(reason) == 0 {
		all = append(all, terminal.Annotation{Warning: !strict, Path: r.Path, Line: r.Line, Rule: "no-schema", Title: of(r), Text: "there is no CRD or XRD of " + kindOf(r)})
	}
	for _, f := range r.Faults {
		all = append(all, note(r, f, strict))
	}
	return all
}

func (o *output) finish() error {
	if len(o.partial) > 0 {
		o.term.Note(validate.PartialNote(o.partial...))
	}
	if o.lenient > 0 {
		o.term.Note(fmt.Sprintf("with --composition-mode loose, the command fails because of %s about fields of patches and bases, as xfn xpkg lint does", terminal.Count(o.lenient, "warning")))
	}
	return o.end(o.counts)
}

// lacks says how many schemas and packages cannot be read.
func (o *output) lacks() (all []string) {
	if o.broken > 0 {
		all = append(all, fmt.Sprintf("%s %s faulty", terminal.Count(o.broken, "schema"), are(o.broken)))
	}
	if o.unread > 0 {
		all = append(all, terminal.Count(o.unread, "package")+" could not be read")
	}
	if o.absent > 0 {
		all = append(all, terminal.Count(o.absent, "file")+" could not be read")
	}
	return all
}

func (o *output) verdict() error {
	invalid, read := o.counts.Invalid-o.absent, o.counts.Total-o.absent
	resources := terminal.Count(read, "resource")
	switch {
	case invalid > 0:
		return fmt.Errorf("%d of %s %s invalid", invalid, resources, are(read))
	case o.broken+o.unread+o.absent > 0:
		return errors.New(strings.Join(o.lacks(), "; "))
	case o.strict && o.counts.NoSchema > 0:
		return fmt.Errorf("there is no schema for %d of %s", o.counts.NoSchema, resources)
	default:
		return nil
	}
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// of returns the kind and name of a resource: "example.org/v1, Kind=A, namespace/name".
func of(r validate.Result) string {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	return kindOf(r) + ", " + name
}

func kindOf(r validate.Result) string { return r.APIVersion + ", Kind=" + r.Kind }

func at(path string, line int) string {
	if path == "" {
		return ""
	}
	return " (" + manifest.Position(path, line) + ")"
}
