package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc/watchdog"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/session/converge"
	"github.com/xfn-dev/xfn/render"
)

// Inputs names what to render. Paths are those of files; "-" is standard input,
// for one of them. Profile Alpha takes XRs, a Composition, an XRD, observed
// resources, and of the context only the environment.
type Inputs struct {
	// Profile is the Crossplane to imitate; render.V2 if empty.
	Profile render.Profile
	// XRs are files or folders of composite resources. Of each file the first
	// document counts, or all if AllDocuments is set.
	XRs          []string
	AllDocuments bool
	// Composition is a file of which the first document counts. It may be ""
	// if there are Compositions.
	Composition string
	// Compositions are files or folders of Compositions and XRDs. If there are
	// any, claims are rendered by way of their XRs, and composed resources
	// that are XRs are rendered in their turn, DefaultDepth levels deep.
	Compositions []string
	// XRD is a file that holds the XRs' definition, or "".
	XRD string
	// Observed are files or folders that hold the composed resources that exist.
	// What stands there in a list is a dump of a cluster: of that each XR has what
	// it controls, its own UID and status, and functions may require the rest.
	Observed []string
	// Live renders the XRs among what is observed that Compositions are for, in
	// place of XRs.
	Live bool
	// Required are files or folders of what functions may require, Extra those
	// that only functions' responses may; profile Classic and older take the
	// last of each, as they did. Credentials hold Secrets.
	Required, Extra, Credentials []string
	// Schemas are files or folders of OpenAPI v3 documents in JSON.
	Schemas []string
	// ContextFiles and ContextValues are what the first function finds in its
	// context: YAML or JSON by key, in files and as text. A value beats a file.
	ContextFiles, ContextValues map[string]string
	// Full asks for the XR with everything that it had.
	Full bool
	// ObserveLoop is how often what was rendered is observed, and rendered
	// again, until nothing changes; 0 is never. ObserveFixtures are files of
	// what comes to observed resources meanwhile; see package converge.
	ObserveLoop     int
	ObserveFixtures []string
	// WrapRunner, if not nil, wraps the functions for the render of one XR, the
	// n-th, as by a recorder. It is called from several goroutines.
	WrapRunner func(n int, r function.Runner) function.Runner
	// Steps answer for steps of the pipeline by their names, in place of the
	// functions that these call, which then need not exist. A name that no step
	// has is an error.
	Steps map[string]function.Runner
	// LiteralDeletion deletes what the code of profile Alpha did, and not what
	// its documentation said. It is for that profile only.
	LiteralDeletion bool
	// Strict makes every problem of the Composition an error, not only those
	// that its Crossplane fails on.
	Strict bool
}

// A plan is what the renders of all XRs share.
type plan struct {
	in        Inputs
	checks    reconciler.Checks
	request   render.Request
	functions map[string]runtimes.Function
	// dependencies are the functions that the packages of the functions file
	// depend on.
	dependencies []lock.Dependency
	xrd          *schema.XRD
	exists       state
	observed     ownerIndex
	fixtures     []converge.Fixture
	// only decodes the XR, if there is one, once for all who look at it.
	only func() (*unstructured.Unstructured, error)
	// source is the file of the Composition.
	source string
}

// loading is the activity of reading and decoding the inputs.
const loading = "loading the composite resource and its Composition"

// load reads what all XRs share, in the order in which `crossplane render`
// reports what is wrong with it. A single XR is checked in its turn.
func (s *Session) load(ctx context.Context, in Inputs, xrs []manifest.Document) (p plan, err error) {
	defer watchdog.Enter(ctx, loading)()
	version, err := reconciler.VersionOf(string(in.Profile))
	if err != nil {
		return p, err
	}
	p = newPlan(in, version)
	if len(xrs) == 1 {
		p.only = sync.OnceValues(func() (*unstructured.Unstructured, error) { return decodeXR(xrs[0]) })
	}
	doc, err := s.first(ctx, in.Composition)
	if err != nil {
		return p, fmt.Errorf("loading the Composition: %w", err)
	}
	entry, err := s.composition(doc)
	if err != nil {
		return p, fmt.Errorf("loading the Composition: %w", err)
	}
	p.request.Composition, p.source = entry.Composition, doc.Path
	if err := p.checkOnly(xrs); err != nil {
		return p, err
	}
	if len(xrs) == 1 {
		s.warnDuplicates(xrs[0])
	}
	s.warnDuplicate(entry.duplicate)
	if err := checkMode(entry); err != nil {
		return p, err
	}
	if err := checkSteps(in.Steps, entry.Composition); err != nil {
		return p, err
	}
	if err := s.functions(ctx, &p, entry.Entry); err != nil {
		return p, err
	}
	if err := s.checkIntegrity(entry.Entry, entry.problems, p); err != nil {
		return p, err
	}
	if err := s.loadState(ctx, &p); err != nil {
		return p, err
	}
	return p, p.checkOnly(xrs)
}

func newPlan(in Inputs, version reconciler.Version) plan {
	return plan{in: in, checks: version.Checks, request: render.Request{Profile: in.Profile, Full: in.Full}}
}

// checkOnly checks an XR that is alone, before anything starts for it.
func (p plan) checkOnly(xrs []manifest.Document) error {
	if len(xrs) != 1 {
		return nil
	}
	_, err := p.forXR(xrs[0])
	return err
}

// loadState reads the state that the renders start from.
func (s *Session) loadState(ctx context.Context, p *plan) (err error) {
	in, req := p.in, &p.request
	if p.xrd, err = s.xrd(ctx, in.XRD); err != nil {
		return fmt.Errorf("loading the XRD: %w", err)
	}
	if req.Credentials, err = s.all(ctx, "function credentials", in.Credentials); err != nil {
		return err
	}
	if !in.Live { // which was read with its Compositions
		if p.exists, err = s.state(ctx, in.Observed); err != nil {
			return err
		}
	}
	if req.Required, err = s.required(ctx, "required resources", in.Required, p.checks); err != nil {
		return err
	}
	if req.Extra, err = s.required(ctx, "extra resources", in.Extra, p.checks); err != nil {
		return err
	}
	req.Extra = append(req.Extra, p.exists.missing(req.Required, req.Extra, req.Credentials)...)
	if err := errors.Join(reconciler.Store(req.Required).Check(), reconciler.Store(req.Extra).Check()); err != nil {
		return fmt.Errorf("loading required resources: %w", err)
	}
	if p.checks.ContextFirst {
		if _, err = s.context(ctx, in.ContextFiles, in.ContextValues, p.checks); err != nil {
			return err
		}
	}
	schemas, err := s.schemas(ctx, in.Schemas)
	if err != nil {
		return err
	}
	req.Schemas = schemas.Find
	if req.Context, err = s.context(ctx, in.ContextFiles, in.ContextValues, p.checks); err != nil {
		return err
	}
	p.observed = observe(nil, p.exists)
	p.fixtures, err = s.observeFixtures(ctx, in.ObserveFixtures)
	return err
}

// warnDuplicates warns of a key that occurs twice in one object, of which the
// last counts.
func (s *Session) warnDuplicates(doc manifest.Document) {
	_, err := doc.StrictJSON()
	s.warnDuplicate(err)
}

func (s *Session) warnDuplicate(err error) {
	if err != nil {
		s.config.Progress.Warn(err.Error() + "; the last one counts")
	}
}

// checkMode returns an error for a Composition that is no pipeline: of all
// problems it is the one that is told before functions are looked for.
func checkMode(c checked) error {
	for _, problem := range c.problems {
		if problem.Kind == composition.UnknownMode {
			return hintMode(c.Entry, problem)
		}
	}
	return nil
}

// checkIntegrity returns the problems of a Composition that its Crossplane fails
// on, all at once, and warns of the others. The problems are those that are known
// of it already, without functions that are not there.
func (s *Session) checkIntegrity(e composition.Entry, problems []composition.Problem, p plan) error {
	s.noteConverted(e)
	needed := functionNames([]*apiextv1.Composition{unanswered(e.Composition, p.in.Steps)})
	known := func(name string) bool {
		_, ok := p.functions[name]
		return ok || s.config.Runners[name] != nil || s.config.Replay != nil || !slices.Contains(needed, name)
	}
	if slices.ContainsFunc(needed, func(name string) bool { return name != "" && !known(name) }) {
		problems = composition.Check(e, known)
	}
	var errs []error
	unknown := false
	for _, problem := range problems {
		if !p.in.Strict && !slices.Contains(p.checks.Refuse, problem.Kind) {
			s.config.Progress.Warn(problem.Error())
			continue
		}
		errs = append(errs, problem)
		unknown = unknown || problem.Kind == composition.UnknownFunction
	}
	err := hintMode(e, errors.Join(errs...))
	switch {
	case !unknown:
		return err
	case e.Converted:
		return hint.Wrap(err, "spec.environment needs function-environment-configs: give its package with "+hint.Package+" function-environment-configs=PATH, or remove what selects EnvironmentConfigs and give the environment with "+hint.ContextValues+" apiextensions.crossplane.io/environment=YAML")
	case s.config.Functions == "":
		return hint.Wrap(err, "name a functions file after the Composition, or a package with "+hint.Package+" NAME=PATH")
	case len(p.dependencies) > 0:
		return hint.Wrap(err, hint.Hint("the functions that "+s.config.Functions+" depends on are "+objectNames(p.dependencies)+": use one of these names, add the function to dependsOn, or name its package with ")+hint.Package+" NAME=PATH")
	default:
		return hint.Wrap(err, "add a Function of that name to "+hint.Hint(s.config.Functions)+", or name its package with "+hint.Package+" NAME=PATH")
	}
}

// forXR returns the request for one XR, if the Composition can compose for it.
func (p plan) forXR(doc manifest.Document) (render.Request, error) {
	req := p.request
	var err error
	if req.XR, err = p.decodeXR(doc); err != nil {
		return req, fmt.Errorf("loading the composite resource: %w", err)
	}
	if err := p.match(req.XR); err != nil {
		return req, fmt.Errorf("%s: %w", p.source, err)
	}
	if p.xrd != nil && p.checks.XRDKind {
		err = p.xrd.Defines(req.XR.GroupVersionKind())
	}
	xr := req.XR
	if err == nil {
		req, err = p.prepare(xr, p.xrd, true)
	}
	if err != nil {
		return req, fmt.Errorf("applying the defaults of XRD %q to the composite resource %q: %w", p.in.XRD, xr.GetName(), err)
	}
	return req, nil
}

// prepare returns the request for an XR: with the fields that it has in the API
// server, the observed resources that belong to it, and the defaults of its XRD,
// which may be nil. First says that no other XR composes it. It changes xr.
func (p plan) prepare(xr *unstructured.Unstructured, xrd *schema.XRD, first bool) (render.Request, error) {
	req := p.request
	p.observed.identify(xr, first)
	req.XR, req.Observed = xr, p.observed.of(xr, first)
	if xrd == nil {
		return req, nil
	}
	req.Legacy = xrd.Legacy()
	return req, xrd.Default(xr)
}

func (p plan) decodeXR(doc manifest.Document) (*unstructured.Unstructured, error) {
	if p.only == nil {
		return decodeXR(doc)
	}
	xr, err := p.only()
	if err != nil {
		return nil, err
	}
	return xr.DeepCopy(), nil
}

func decodeXR(doc manifest.Document) (*unstructured.Unstructured, error) {
	if doc.Text == nil {
		return &unstructured.Unstructured{Object: map[string]any{}}, nil
	}
	xr, err := decode(doc)
	if err != nil {
		return nil, err
	}
	if _, ok := xr.Object["metadata"].(map[string]any); !ok && xr.Object["metadata"] != nil {
		return nil, &manifest.Error{Path: doc.Path, Line: doc.Lines().Of("metadata"), Err: errors.New("metadata has to be an object")}
	}
	return xr, nil
}

func (p plan) match(xr *unstructured.Unstructured) error {
	if !p.checks.Match {
		return nil
	}
	return composition.Match(p.request.Composition, xr, p.checks.Selector...)
}

// xrs reads the documents of the XRs. A document without text is an empty XR.
func (s *Session) xrs(ctx context.Context, in Inputs) ([]manifest.Document, error) {
	version, err := reconciler.VersionOf(string(in.Profile))
	if err != nil {
		return nil, err
	}
	var docs []manifest.Document
	for _, path := range in.XRs {
		some, err := s.xrsOf(ctx, path, in.AllDocuments)
		if errors.Is(err, manifest.ErrEmpty) && version.EmptyXR {
			some, err = []manifest.Document{{Path: path, Line: 1}}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("loading the composite resource: %w", err)
		}
		docs = append(docs, some...)
	}
	return docs, nil
}

// xrsOf returns the documents of a file or folder: of each file the first, or
// all.
func (s *Session) xrsOf(ctx context.Context, path string, all bool) ([]manifest.Document, error) {
	docs, err := s.config.Reader.All(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, &manifest.Error{Path: path, Err: manifest.ErrEmpty}
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

func (s *Session) noteMore(path string) {
	s.config.Progress.Note(fmt.Sprintf("%s holds several documents; only the first is used", path))
}
