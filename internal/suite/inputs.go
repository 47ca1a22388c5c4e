package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/suite/spec"
	"github.com/xfn-dev/xfn/render"
)

// path converts a path in the suite, which is relative to the suite's file, to
// a path relative to the working directory.
func (a *attempt) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(a.item.Suite.Path), filepath.FromSlash(p))
}

// inputs returns the inputs of the render. The caller must call release, even
// after an error, to release the inline documents.
func (a *attempt) inputs(ctx context.Context) (in session.Inputs, release func(), err error) {
	h := &inputResolver{attempt: a, ctx: ctx}
	release = func() { a.inline.drop(h.held) }
	f := a.form
	if in.Profile, err = f.RenderProfile(); err != nil {
		h.fault(fmt.Errorf("crossplaneVersion: %w", err), "crossplaneVersion")
		return in, release, errors.Join(h.errs...)
	}
	h.features()
	in.Features = a.features
	h.checkFields()
	if isSet(f.Operation) {
		in.Operation = h.one(f.Operation, "operation")
		if isSet(f.Watched) {
			in.Watched = h.one(f.Watched, "watched")
		}
	} else {
		in.XRs, in.Invalid = []string{h.xr()}, session.RefuseInvalid
		in.Composition = h.one(f.Composition, "composition")
	}
	if f.Invalid || f.Expect.Valid.All != nil { // The expectation validates the XR after the render.
		in.Invalid = session.AllowInvalid
	}
	if isSet(f.XRD) {
		in.XRD = h.one(f.XRD, "xrd")
	}
	for i, s := range f.Functions {
		if s.Object == nil {
			h.file(s.File, "functions", fmt.Sprintf("[%d]", i))
		}
	}
	in.Observed = h.all(f.Observed, "observed")
	in.Required = h.all(f.Required, "required")
	in.Extra = h.all(f.Extra, "extraResources")
	in.Credentials = h.all(f.Credentials, "credentials")
	for _, p := range f.OpenAPI {
		in.Schemas = append(in.Schemas, a.path(p))
	}
	h.context(&in)
	in.Starting = func() func() {
		began := a.options.Now()
		return func() { a.waited += a.options.Now().Sub(began) }
	}
	in.ObserveLoop = a.loop()
	in.ObserveFixtures = h.fixtures()
	in.Steps = h.mocks()
	if in.Profile != render.Alpha {
		in.WrapRunner = func(_ int, r function.Runner) function.Runner {
			a.calls = report.Record(recovering(a.usage.recording(a.covering(r))), a.options.Now)
			return a.calls
		}
	}
	return in, release, errors.Join(h.errs...)
}

func isSet(s spec.Source) bool { return s.File != "" || s.Object != nil }

// checkFields reports fields of a case with an Operation that are only for composite resources,
// and the reverse.
func (h *inputResolver) checkFields() {
	f, e := h.form, h.form.Expect
	isOperation := isSet(f.Operation)
	for _, c := range []struct {
		set, operation bool
		path           []string
	}{
		{f.XR.File != "" || f.XR.From != "" || f.XR.Patch != nil || f.XR.Object != nil, false, []string{"xr"}},
		{isSet(f.Composition), false, []string{"composition"}},
		{isSet(f.XRD), false, []string{"xrd"}},
		{len(f.Observed) > 0, false, []string{"observed"}},
		{len(f.Extra) > 0, false, []string{"extraResources"}},
		{f.Observe.Passes != 0 || len(f.Observe.Fixtures) > 0, false, []string{"observe"}},
		{e.XR != nil, false, []string{"expect", "xr"}},
		{e.Ready.XR != nil || e.Ready.After != nil || len(e.Ready.Resources)+len(e.Ready.Unready) > 0, false, []string{"expect", "ready"}},
		{e.Passes != nil, false, []string{"expect", "passes"}},
		{e.Connection != nil, false, []string{"expect", "connectionDetails"}},
		{isSet(f.Watched), true, []string{"watched"}},
		{e.Operation != nil, true, []string{"expect", "operation"}},
	} {
		if !c.set || c.operation == isOperation {
			continue
		}
		err := fmt.Errorf("%s: this is only for cases with a composite resource, not with an operation", strings.Join(c.path, "."))
		if c.operation {
			err = fmt.Errorf("%s: this is only for cases with an operation", strings.Join(c.path, "."))
		}
		h.fault(hint.Wrap(err, "remove the field or, if it comes from the defaults, set it to null in the case"), c.path...)
	}
}

func (a *attempt) loop() int {
	passes, expect := 0, a.form.Expect
	for _, want := range []*int{expect.Ready.After, expect.Passes} {
		if want != nil {
			passes = max(passes, *want)
		}
	}
	passes = cmp.Or(a.form.Observe.Passes, passes)
	if passes == 0 && len(a.form.Observe.Fixtures) > 0 {
		passes = defaultPasses
	}
	return max(passes-1, 0)
}

// defaultPasses is the number of passes with fixtures if the case does not set it.
const defaultPasses = 10

// An inputResolver converts the inputs of a case to paths, also for inline
// documents. It collects the errors.
type inputResolver struct {
	*attempt
	ctx  context.Context
	held []string
	errs []error
}

func (h *inputResolver) fault(err error, path ...string) {
	if _, placed := positionIn(h.item.Suite.Path, err); !placed {
		err = &manifest.Error{Path: h.item.Suite.Path, Line: h.item.Case.Position(path...), Err: err}
	}
	h.errs = append(h.errs, err)
}

// inlinePath returns a path by which the session reads the inline object obj.
func (h *inputResolver) inlinePath(obj map[string]any, path ...string) string {
	doc, err := h.document(obj, path...)
	if err != nil {
		h.fault(err, path...)
	}
	p := h.inline.keep(doc.Position(), []manifest.Document{doc})
	h.held = append(h.held, p)
	return p
}

func (a *attempt) document(obj map[string]any, path ...string) (manifest.Document, error) {
	return manifest.Encode(a.item.Suite.Path, a.item.Case.Position(path...), obj)
}

func (a *attempt) documents(ctx context.Context, sources []spec.Source, field string) (docs []manifest.Document, err error) {
	for i, s := range sources {
		var some []manifest.Document
		if s.Object == nil {
			r := a.options.Config.Reader
			some, err = r.Some(ctx, lock.Metadata(r.FS, a.path(s.File)))
		} else {
			some = make([]manifest.Document, 1)
			some[0], err = a.document(s.Object, field, fmt.Sprintf("[%d]", i))
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, some...)
	}
	return docs, nil
}

func (h *inputResolver) one(s spec.Source, field string) string {
	if !isSet(s) {
		h.fault(fmt.Errorf("the case has no %s", field))
		return ""
	}
	return h.source(s, field)
}

func (h *inputResolver) source(s spec.Source, path ...string) string {
	if s.Object != nil {
		return h.inlinePath(s.Object, path...)
	}
	return h.file(s.File, path...)
}

// file returns the path of a file or directory in a field of the case, which must exist.
func (h *inputResolver) file(file string, field ...string) string {
	path, r := h.attempt.path(file), h.options.Config.Reader
	if file == "" {
		h.fault(fmt.Errorf("%s: the path of a file is empty", field[0]), field...)
		return path
	}
	if err := h.checkExists(path); err != nil && h.form.Expect.Error == nil {
		if rel, relErr := filepath.Rel(filepath.Dir(h.item.Suite.Path), file); relErr == nil && r.CheckExists(file) == nil {
			err = hint.Wrap(err, "paths are relative to the folder of the suite: write "+filepath.ToSlash(rel))
		}
		h.fault(fmt.Errorf("%s: %w", field[0], err), field...)
	}
	return path
}

func (h *inputResolver) all(sources []spec.Source, path ...string) []string {
	paths := make([]string, len(sources))
	for i, s := range sources {
		paths[i] = h.source(s, append(slices.Clone(path), fmt.Sprintf("[%d]", i))...)
	}
	return paths
}

func (h *inputResolver) context(in *session.Inputs) {
	in.ContextFiles, in.ContextValues, in.ContextAt = map[string]string{}, map[string]string{}, map[string]string{}
	for key, p := range h.form.ContextFile {
		in.ContextFiles[key] = h.path(p)
		in.ContextAt[key] = h.position("contextFiles", key) + ": contextFiles: "
	}
	for key, v := range h.form.Context {
		text, err := json.Marshal(v)
		if err != nil {
			h.fault(err, "context", key)
		}
		in.ContextValues[key] = string(text)
		in.ContextAt[key] = h.position("context", key) + ": context: "
	}
}

func (h *inputResolver) fixtures() []string {
	var sources []spec.Source
	for _, s := range h.form.Observe.Fixtures {
		if s.Object != nil && s.Object["kind"] != session.FixturesKind {
			s.Object = map[string]any{"apiVersion": session.FixturesAPIVersion, "kind": session.FixturesKind, "fixtures": []any{s.Object}}
		}
		sources = append(sources, s)
	}
	return h.all(sources, "observe", "fixtures")
}

func (h *inputResolver) xr() string {
	xr := h.form.XR
	if xr.File != "" && xr.Patch == nil && xr.From == "" {
		return h.file(xr.File, "xr")
	}
	obj, err := h.resolve(h.item.Case, xr, 0)
	if err != nil {
		h.fault(err, "xr")
		return ""
	}
	return h.inlinePath(obj, "xr")
}

// maxPatchDepth limits how many composite resources are patched in a row, such
// as when a case patches the composite resource of another case.
const maxPatchDepth = 100

// resolve returns the composite resource that xr in case c selects and patches.
func (h *inputResolver) resolve(c *spec.Case, xr spec.XR, depth int) (obj map[string]any, err error) {
	switch {
	case depth > maxPatchDepth:
		return nil, errors.New("xr: the case patches itself")
	case xr.Object != nil:
		return xr.Object, nil
	case xr.From != "" && xr.File != "":
		return nil, errors.New("xr: file and from cannot both be set")
	case xr.From != "":
		obj, err = h.from(xr.From, depth)
	case xr.File != "":
		isWhole := xr.Patch == nil && depth == 0
		obj, err = h.read(h.ctx, xr.File, isWhole)
	case xr.Patch != nil:
		obj, err = h.byDefault(c, depth)
	default:
		return nil, errors.New("the case has no composite resource (xr)")
	}
	if err != nil || xr.Patch == nil {
		return obj, err
	}
	return fieldpath.Map(fieldpath.MergePatch(obj, xr.Patch)), nil
}

// read returns the composite resource in a file. Unless isWhole is true, the file may lack the
// apiVersion or the kind, which a patch adds.
func (a *attempt) read(ctx context.Context, file string, isWhole bool) (map[string]any, error) {
	path, r := a.path(file), a.options.Config.Reader
	if err := a.checkExists(path); err != nil {
		return nil, fmt.Errorf("xr: %w", err)
	}
	doc, _, err := r.First(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("loading the composite resource: %w", err)
	}
	var obj map[string]any
	if len(doc.Text) > maxKept {
		obj, err = doc.Object()
	} else {
		obj, err = a.resources.Do(doc.Key(), doc.Object)
	}
	if err == nil && (isWhole || obj["apiVersion"] != nil && obj["kind"] != nil) {
		err = session.CheckXR(doc, obj)
	}
	if err != nil {
		return nil, fmt.Errorf("loading the composite resource: %w", err)
	}
	return obj, nil
}

func (h *inputResolver) byDefault(c *spec.Case, depth int) (map[string]any, error) {
	xr, ok, err := c.DefaultXR()
	if err != nil {
		return nil, err
	}
	if !ok || xr.File == "" && xr.From == "" && xr.Object == nil {
		return nil, hint.Wrap(errors.New("xr: cannot patch: the defaults have no composite resource"), "set file or from beside patch")
	}
	obj, err := h.resolve(c, xr, depth+1)
	if _, placed := positionIn(h.item.Suite.Path, err); err != nil && !placed {
		err = c.DefaultError(err, "xr")
	}
	return obj, err
}

func (h *inputResolver) from(name string, depth int) (map[string]any, error) {
	var names []string
	for _, other := range h.item.Suite.Cases {
		if other.Name != name {
			names = append(names, other.Name)
			continue
		}
		mine := *other // Spec changes the copied case; other goroutines may run the original.
		f, err := mine.Spec()
		if err != nil {
			return nil, fmt.Errorf("xr: case %q is invalid: %w", name, err)
		}
		return h.resolve(&mine, f.XR, depth+1)
	}
	if near := hint.Nearest(name, names); near != "" {
		return nil, fmt.Errorf("xr: there is no case %q: is it %q?", name, near)
	}
	return nil, fmt.Errorf("xr: there is no case %q", name)
}

// recovering returns a Runner that returns a panic of r as an error. A builtin could panic.
func recovering(r function.Runner) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (rsp *fnv1.RunFunctionResponse, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("function %q panicked: %v", name, p)
			}
		}()
		return r.RunFunction(ctx, name, req)
	})
}

// features sets the features of the case. Options.Features have priority.
func (h *inputResolver) features() {
	version := composition.VersionOfProfile(h.form.Profile)
	err := error(nil)
	if h.form.Crossplane != "" {
		version, err = composition.ParseCrossplaneVersion(h.form.Crossplane)
	}
	all := composition.Features{}
	maps.Copy(all, h.form.Features)
	maps.Copy(all, h.options.Features)
	var warnings []string
	if err == nil {
		h.attempt.features, warnings, err = all.In(version)
	}
	if err != nil {
		h.fault(fmt.Errorf("features: %w", err), "features")
	}
	for _, text := range warnings {
		h.sessions.config.Progress.Warn(text)
	}
}
