package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/validate"
	"github.com/xfn-dev/xfn/render"
)

// Inputs are the files to render, and options. One path may be "-" for standard input.
type Inputs struct {
	// Profile is the Crossplane version to imitate. Empty means render.V2.
	Profile render.Profile
	// XRs are files or folders of composite resources. Unless AllDocuments
	// is set, only the first document of each file is used.
	XRs          []string
	AllDocuments bool
	// Composition is the path of a file. It may be "" if Compositions is set.
	Composition string
	// Compositions are files or folders of Compositions and XRDs. If it is not
	// empty, claims and composed XRs are rendered, too, up to maxDepth levels.
	Compositions []string
	// Operation is the path of a file whose first document is an Operation, CronOperation or
	// WatchOperation, or "". If it is set, the Operation is rendered instead of XRs, with
	// Required, Schemas, Credentials and the context. Watched is the path of the file of the one
	// resource for which a WatchOperation makes the Operation, or "".
	Operation, Watched string
	// XRD is the path of the file with the XRD of the XRs, or "".
	XRD string
	// Observed are files or folders of existing resources. Resources in a list are a dump
	// of a cluster: an XR observes the dumped resources that its resourceRefs name, or that it
	// controls if it is not in the dump, and has the UID and status of the dumped XR.
	// Functions may require the other resources of the dump.
	Observed []string
	// Live renders the XRs in Observed that have Compositions, instead of the files in XRs. All of
	// Observed is a dump. If Compositions is empty, the Compositions in the dump are used.
	Live bool
	// Required are files or folders of resources that functions may require. Extra
	// are resources that functions may require only in a response. Credentials are
	// Secrets for functions. Profile Classic and older profiles use only the last
	// path of Required and of Extra.
	Required, Extra, Credentials []string
	// Schemas are files or folders of OpenAPI v3 documents in JSON.
	Schemas []string
	// ContextFiles and ContextValues are the context of the first function: files and
	// values by context key, in YAML or JSON. Values take precedence over files.
	ContextFiles, ContextValues map[string]string
	// ContextAt has the positions of context keys in a file, for messages, such as
	// "suite.yaml:3: context: ".
	ContextAt map[string]string
	// Full adds the fields of the input XR to the rendered XR.
	Full bool
	// ObserveLoop is the maximum number of additional passes. Each observes the output of
	// the previous pass, until nothing changes; 0 means no additional pass. ObserveFixtures
	// are files of changes to observed resources; see FixturesKind.
	ObserveLoop     int
	ObserveFixtures []string
	// Starting, if not nil, is called before a render starts the functions of a pipeline or
	// waits for functions that other renders start. It returns a func that is called afterwards.
	Starting func() (started func())
	// WrapRunner, if not nil, wraps the Runner of the XR with number n (Result.N), or of the
	// Operation.
	// It is called from several goroutines.
	WrapRunner func(n int, r function.Runner) function.Runner
	// Encode, if not nil, encodes each Result with a render for Result.Text. It is called from
	// several goroutines.
	Encode func(Result) ([]byte, error)
	// Steps replace the functions of pipeline steps, by step name. A replaced
	// function need not exist.
	Steps map[string]function.Runner
	// LiteralDeletion deletes resources as the code of Crossplane v1.11 did, and
	// not as its documentation said. It is only for profile Alpha.
	LiteralDeletion bool
	// Features are the features of the imitated Crossplane that are switched on or off.
	Features composition.Features
	// Strict reports all problems of the Composition as errors.
	Strict bool
	// Invalid says what happens to composite resources and claims that an API server would
	// refuse. It has no effect without their XRDs, or if Live is set.
	Invalid InvalidPolicy
	// Validated means that the caller validates the output, so warnings about the fields of composed
	// resources of Kubernetes would repeat its errors.
	Validated bool
}

// Paths returns the paths of all files and folders in the inputs.
func (in Inputs) Paths() []string {
	paths := slices.Concat(in.XRs, []string{in.Operation, in.Watched, in.Composition, in.XRD}, in.Compositions, in.Observed, in.Required, in.Extra,
		in.Schemas, in.Credentials, in.ObserveFixtures, slices.Collect(maps.Values(in.ContextFiles)))
	return slices.DeleteFunc(paths, func(p string) bool { return p == "" })
}

// A plan contains the data that the renders of all XRs by one Composition share, or of an Operation.
type plan struct {
	in      Inputs
	version reconciler.Version
	// entry is the Composition or Operation. It is empty for a library of Compositions.
	entry     composition.Entry
	request   render.Request
	functions functionList
	// xrd is the XRD of the XRs, or nil.
	xrd *decodedXRD
	// validator validates XRs. It is nil if XRs are not validated.
	validator *validate.Validator
	observed  ownerIndex
	fixtures  []Fixture
	// admission is for the only XR. It is nil if there are several XRs.
	admission *admission
}

const loading = "loading the composite resource and its Composition"

// load adds the data that the renders of all XRs share to p. It reports errors in
// the same order as `crossplane render`.
func (s *Session) load(ctx context.Context, p plan, xrs []manifest.Document) (_ plan, err error) {
	defer proc.EnterActivity(ctx, loading)()
	entry, err := s.composition(ctx, p.in.Composition)
	if err != nil {
		return p, fmt.Errorf("loading the Composition: %w", err)
	}
	p.setEntry(entry.Entry)
	only, err := s.checkOnly(ctx, p, xrs)
	if err != nil {
		return p, err
	}
	s.warnDuplicate(entry.Duplicate)
	// An unknown mode is reported before any error of functions.
	i := slices.IndexFunc(entry.problems, func(p composition.Problem) bool { return p.Kind == composition.UnknownMode })
	if i >= 0 {
		return p, p.hintMode(entry.problems[i])
	}
	if err := checkSteps(p.in.Steps, p.entry); err != nil {
		return p, err
	}
	s.switchOff(&p)
	if err := s.loadFunctions(ctx, &p, entry.problems); err != nil {
		return p, err
	}
	if p.xrd == nil && only != nil {
		for _, problem := range s.readsOf(ctx, p.entry).Misread(p.entry, only.obj) {
			s.config.Progress.Note(problem.Error())
		}
	}
	err = s.checkFields(ctx, p)
	if only != nil && err == nil {
		// This checks the XR again, now with the XRD.
		p.admission, err = p.admit(ctx, xrs[0], *only)
	}
	return p, err
}

// loadFunctions loads the functions of the pipeline, checks the Composition or Operation, of which
// problems were already found, and loads what does not depend on it.
func (s *Session) loadFunctions(ctx context.Context, p *plan, problems []composition.Problem) (err error) {
	if p.functions, err = s.functions(ctx, *p, p.entry); err != nil {
		return err
	}
	if err := s.checkIntegrity(ctx, *p, problems); err != nil {
		return err
	}
	return s.loadState(ctx, p, nil)
}

func newPlan(in Inputs, version reconciler.Version) plan {
	if in.WrapRunner == nil {
		in.WrapRunner = func(_ int, r function.Runner) function.Runner { return r }
	}
	return plan{
		in: in, version: version,
		request: render.Request{Profile: in.Profile, Full: in.Full, Validated: in.Validated, NoExtraResources: in.Features.Off(composition.FeatureExtraResources)},
	}
}

func (p *plan) setEntry(e composition.Entry) { p.entry, p.request.Composition = e, e.Composition }

// checkOnly returns the XR if there is exactly one, and checks it before any function starts.
func (s *Session) checkOnly(ctx context.Context, p plan, xrs []manifest.Document) (*original, error) {
	if len(xrs) != 1 {
		return nil, nil
	}
	xr, err := decodeXR(xrs[0])
	if err != nil {
		return nil, err
	}
	if _, err = p.forXR(xrs[0], xr); err != nil && s.xrd(ctx, &p) == nil {
		_, err = p.forXR(xrs[0], xr) // The hint for a claim needs the XRD.
	}
	if err == nil {
		s.warnDuplicate(xr.duplicate)
		s.warnOtherComposition(p, xrs[0], xr.obj)
	}
	return &xr, err
}

// loadState loads what does not depend on the Composition. library may be nil.
func (s *Session) loadState(ctx context.Context, p *plan, library *composition.Library) (err error) {
	in, req := p.in, &p.request
	if err := s.xrd(ctx, p); err != nil {
		return err
	}
	if req.Credentials, err = s.given(ctx, in, "function credentials", in.Credentials, checkCredentials); err != nil {
		return err
	}
	exists := p.observed.state
	if !in.Live { // If Live is set, library has already read the observed resources.
		if exists, err = s.state(ctx, in); err != nil {
			return err
		}
	}
	if req.Required, err = s.required(ctx, *p, "required resources", in.Required); err != nil {
		return err
	}
	if req.Extra, err = s.required(ctx, *p, "extra resources", in.Extra); err != nil {
		return err
	}
	req.Extra = append(req.Extra, exists.others(req.Required, req.Extra, req.Credentials)...)
	if err := errors.Join(reconciler.Store(req.Required).Check(), reconciler.Store(req.Extra).Check()); err != nil {
		return fmt.Errorf("loading required resources: %w", err)
	}
	if p.version.ContextFirst {
		if req.Context, err = s.context(ctx, *p); err != nil {
			return err
		}
	}
	schemas, err := s.schemas(ctx, in.Schemas)
	if err != nil {
		return err
	}
	req.Schemas = schemas.Find
	if !p.version.ContextFirst {
		if req.Context, err = s.context(ctx, *p); err != nil {
			return err
		}
	}
	p.observed = observe(library, exists)
	docs, err := documents(ctx, s.config.Reader, "fixtures", in.ObserveFixtures)
	if err != nil {
		return err
	}
	if p.fixtures, err = ParseFixtures(docs); err != nil {
		return fmt.Errorf("loading fixtures: %w", err)
	}
	return nil
}

// forXR returns the request for xr, the XR in doc. It returns an error if the
// Composition is not for the XR's kind.
func (p plan) forXR(doc manifest.Document, xr original) (req render.Request, err error) {
	req = p.request
	req.XR = xr.copy()
	if p.version.Match {
		if err := p.match(doc, req.XR); err != nil {
			return req, err
		}
	}
	field := "spec.names.kind"
	if p.xrd != nil && p.version.XRDKind {
		if err = p.xrd.Defines(req.XR.GroupVersionKind()); p.xrd.Kind() == req.XR.GetKind() {
			field = "spec.group"
		}
	}
	if err == nil {
		field = "spec.versions"
		err = p.prepare(&req, p.xrd, true)
	}
	if err != nil {
		return req, fmt.Errorf("applying the defaults of XRD %q to the composite resource %q: %w (at %s: %s)", p.in.XRD, req.XR.GetName(), err, p.xrd.doc.PositionOf(field), field)
	}
	return req, nil
}

// prepare completes the request for req.XR. It sets fields from the cluster
// dump, the observed resources, and the defaults of the XRD, which may be nil.
// first is true if no other XR composes req.XR.
func (p plan) prepare(req *render.Request, xrd *decodedXRD, first bool) error {
	p.observed.identify(req.XR, first)
	req.Observed = p.observed.of(req.XR, first)
	if xrd == nil {
		return nil
	}
	req.Legacy, req.ConnectionSecretKeys = xrd.Legacy(), xrd.ConnectionSecretKeys()
	return xrd.Default(req.XR)
}

// An original is a composite resource or claim as its document has it.
type original struct {
	obj map[string]any
	// duplicate is the error for a duplicate key, whose last value is used, or nil.
	duplicate error
}

func (o original) copy() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: schema.Copy(o.obj)}
}

func decodeXR(doc manifest.Document) (xr original, err error) {
	if doc.Text == nil {
		return original{obj: map[string]any{}}, nil
	}
	if xr.obj, xr.duplicate, err = doc.StrictObject(); err == nil {
		err = checkTypes(doc, xr.obj)
	}
	if err != nil {
		return xr, fmt.Errorf("loading the composite resource: %w", err)
	}
	return xr, nil
}

// xrs reads the documents of the XRs. If emptyXR is true, an empty file is an empty XR.
func (s *Session) xrs(ctx context.Context, in Inputs, emptyXR bool) ([]manifest.Document, error) {
	var docs []manifest.Document
	for _, path := range in.XRs {
		some, err := s.xrsOf(ctx, path, in.AllDocuments)
		if errors.Is(err, manifest.ErrEmpty) && emptyXR {
			some, err = []manifest.Document{{Path: path, Line: 1}}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("loading the composite resource: %w", err)
		}
		docs = append(docs, some...)
	}
	return docs, nil
}

// xrsOf returns all documents of a file or folder if all is true, and otherwise
// the first document of each file.
func (s *Session) xrsOf(ctx context.Context, path string, all bool) ([]manifest.Document, error) {
	docs, err := s.config.Reader.All(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		err := manifest.ErrEmpty
		if info, statErr := s.config.Reader.FS.Stat(path); statErr == nil && info.IsDir() {
			err = errors.New("the directory has no .yaml or .yml file with a document")
		}
		return nil, hint.Wrap(&manifest.Error{Path: path, Err: err}, "name the file of a composite resource, or a directory with .yaml or .yml files")
	}
	if all {
		return docs, nil
	}
	var firsts []manifest.Document
	noted := ""
	for _, doc := range docs {
		switch n := len(firsts); {
		case n == 0 || firsts[n-1].Path != doc.Path:
			firsts = append(firsts, doc)
		case noted != doc.Path:
			noted = doc.Path
			s.noteMore(doc.Path)
		}
	}
	return firsts, nil
}

// switchOff removes the steps of p.entry that features switch off. It warns of a Composition that then
// composes nothing.
func (s *Session) switchOff(p *plan) {
	switch e := p.entry; {
	case p.in.Features.Off(composition.FeatureFunctions) && !e.Converted: // Converted Compositions need no functions.
		s.config.Progress.Warn(fmt.Sprintf("%s: Composition %q composes nothing: without the feature %s, Crossplane runs no pipeline", e.Document.Position(), e.GetName(), composition.FeatureFunctions))
		p.setEntry(e.Without(func(apiextv1.PipelineStep) bool { return true }))
	case p.in.Features.Off(composition.FeatureEnvironmentConfigs) && e.Converted:
		p.setEntry(e.Without(func(step apiextv1.PipelineStep) bool { return step.FunctionRef.Name == legacy.EnvironmentConfigs }))
	}
}

// Release returns the release of Crossplane by whose CRDs the kinds of Crossplane are
// validated in a profile.
func Release(p render.Profile) schema.Release {
	switch p {
	case render.Classic:
		return schema.V2_2
	case render.V1_20:
		return schema.V1_20
	case render.V1_14, render.Alpha:
		return schema.V1_14
	default:
		return schema.V2_3
	}
}
