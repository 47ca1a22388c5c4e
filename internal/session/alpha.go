package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/alpha"
	containergrpc "github.com/xfn-dev/xfn/internal/alpha/grpc"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/render"
)

// Runner is the Runtime of an alpha function that a remote container runner
// runs. The Composition contains the endpoint of the runner.
const Runner Runtime = "Runner"

// An alphaPlan contains the data that the renders of all XRs share in profile Alpha.
type alphaPlan struct {
	plan
	composition *alpha.Composition
	environment map[string]any
	// storeConfig is alpha.Request.StoreConfig.
	storeConfig string
	run         alpha.ContainerRunner
	runs        []Run
}

// renderAlpha implements Session.Render for profile Alpha. The Composition names the images
// of its functions. Each call starts a container, so no function is started in advance.
func (s *Session) renderAlpha(ctx context.Context, docs []manifest.Document, in Inputs, version reconciler.Version, each func(Result) error) error {
	if err := s.checkAlpha(in); err != nil {
		return err
	}
	p, err := s.loadAlpha(ctx, newPlan(in, version), docs)
	if err != nil {
		return err
	}
	return in.renderEach(ctx, docs, func(ctx context.Context, n int, doc manifest.Document) []Result {
		r := Result{N: n, Source: doc.Position(), Document: doc, Functions: p.runs}
		r.LastPass, r.Invalid, r.Err = p.render(ctx, doc)
		return []Result{r}
	}, each)
}

// checkAlpha returns an error for inputs that profile Alpha does not support.
func (s *Session) checkAlpha(in Inputs) error {
	for _, c := range []struct {
		given bool
		what  string
	}{
		{s.config.Functions != "", "a functions file: the functions are in the Composition"},
		{len(s.config.Packages) > 0, "packages: the Composition names images"},
		{s.config.Verify != nil, "the verification of signatures"},
		{len(in.Compositions) > 0, "Compositions to choose from"},
		{in.ObserveLoop > 0, "an observe loop"},
		{in.WrapRunner != nil, "tracing of functions"},
		{len(in.Steps) > 0, "mocks of steps"},
		{s.config.Replay != nil || s.config.Wrap != nil, "recording of function calls"},
		{len(in.Required)+len(in.Extra)+len(in.Schemas) > 0, "resources or schemas that functions may require"},
		{len(in.Credentials) > 0, "credentials of functions"},
	} {
		if c.given {
			return fmt.Errorf("profile %s does not support %s", render.Alpha, c.what)
		}
	}
	return nil
}

func (s *Session) loadAlpha(ctx context.Context, base plan, xrs []manifest.Document) (p alphaPlan, err error) {
	defer proc.EnterActivity(ctx, loading)()
	p.plan = base
	in := p.in
	doc, err := s.first(ctx, in.Composition)
	if err != nil {
		return p, fmt.Errorf("loading the Composition: %w", err)
	}
	if err := p.decode(doc); err != nil {
		return p, fmt.Errorf("loading the Composition: %w", err)
	}
	if in.Features.Off(composition.FeatureFunctions) {
		p.composition = p.composition.WithoutFunctions()
	}
	if err := s.xrd(ctx, &p.plan); err != nil {
		return p, err
	}
	if _, err := s.checkOnly(ctx, p.plan, xrs); err != nil {
		return p, err
	}
	s.warnDuplicates(doc)
	exists, err := s.state(ctx, in)
	if err != nil {
		return p, err
	}
	p.observed = observe(nil, exists)
	if p.environment, err = s.environment(ctx, p.plan); err != nil {
		return p, err
	}
	if in.Features.Off(composition.FeatureEnvironmentConfigs) {
		p.environment = nil
	}
	if p.environment == nil && p.composition.PatchesEnvironment() {
		s.config.Progress.Warn(doc.Position() + ": there is no environment, so its patches have no effect: set " + sdk.EnvironmentKey + " in the context")
	}
	err = s.prepareContainers(&p, filepath.Dir(doc.Path))
	return p, err
}

func (p *alphaPlan) decode(doc manifest.Document) error {
	entry, err := composition.Decode(doc)
	if err != nil {
		return err
	}
	p.setEntry(entry)
	obj, err := doc.Object()
	if err != nil {
		return err
	}
	if p.in.Features[composition.FeatureSecretStores] {
		p.storeConfig = cmp.Or(fieldpath.Text(obj, "spec", "publishConnectionDetailsWithStoreConfigRef", "name"), "default")
	}
	p.composition, err = alpha.Decode(obj)
	if field, ok := errors.AsType[*alpha.FieldError](err); ok {
		err = doc.ErrorOf(field.Field, err)
	}
	if !legacy.Is(obj) {
		err = hint.Wrap(err, "render a pipeline with another "+hint.Profile)
	}
	return err
}

// environment reads the environment from the context. Profile Alpha has no
// other context keys.
func (s *Session) environment(ctx context.Context, p plan) (map[string]any, error) {
	fields, err := s.contextFields(ctx, p)
	if err != nil {
		return nil, err
	}
	for key := range fields {
		if key != sdk.EnvironmentKey {
			return nil, hint.Wrap(fmt.Errorf("reading context %q: alpha functions have no context", key),
				"only the environment may be given, as "+sdk.EnvironmentKey)
		}
	}
	environment, ok := fields[sdk.EnvironmentKey].(map[string]any)
	if !ok && len(fields) > 0 {
		return nil, fmt.Errorf("reading context %q: the environment must be an object", sdk.EnvironmentKey)
	}
	return environment, nil
}

// prepareContainers sets p.run, which runs containers, and describes the
// functions in p.runs. A relative path of an image is relative to dir.
func (s *Session) prepareContainers(p *alphaPlan, dir string) error {
	here := alpha.ContainerRunnerFunc(func(ctx context.Context, req alpha.ContainerRequest) ([]byte, error) {
		if s.config.Containers == nil {
			return nil, hint.Wrap(errors.New("no container runtime is available"), "set container.runner.endpoint to a remote runner")
		}
		req.Image = s.resolve(dir, req.Image)
		return s.config.Containers.RunContainer(ctx, req)
	})
	p.run = containergrpc.Endpoints(here)
	for _, c := range p.composition.Containers() {
		r := Run{Function: c.Function, Package: c.Image, Runtime: Sandbox, Detail: c.Image}
		switch runtime := s.config.Runtime; {
		case c.Endpoint == "" && runtime != Auto && runtime != Sandbox:
			return fmt.Errorf("choosing a runtime for function %q: runtime %s cannot run a container; use a sandbox or a runner that the Composition names", c.Function, runtime)
		case c.Endpoint != "":
			r.Runtime, r.Detail = Runner, c.Image+" by the runner at "+c.Endpoint
		}
		p.runs = append(p.runs, r)
		s.noteRun(r)
	}
	return nil
}

// render renders the XR in doc. invalid are the reasons why an API server would refuse it.
func (p alphaPlan) render(ctx context.Context, doc manifest.Document) (r *LastPass, invalid []string, err error) {
	a, err := p.admitted(ctx, doc)
	if err != nil {
		return nil, nil, err
	}
	req, invalid := a.req, a.invalid
	out, err := alpha.Render(ctx, p.run, alpha.Request{
		XR: req.XR, Composition: p.composition, Environment: p.environment,
		ConnectionSecretKeys: req.ConnectionSecretKeys, LiteralDeletion: p.in.LiteralDeletion, StoreConfig: p.storeConfig,
	}, req.Observed)
	if err != nil {
		err = fmt.Errorf("rendering composite resource %q: %w", req.XR.GetName(), err)
		if other := (*alpha.TypeError)(nil); errors.As(err, &other) {
			err = fmt.Errorf("%w (at %s: %s)", err, p.entry.Document.PositionOf(other.Field), other.Field)
		}
		return nil, invalid, err
	}
	rendered := render.Result(*out)
	if req.Full {
		rendered.XR = rendered.Full
	}
	return &LastPass{Result: &rendered, Passes: 1}, invalid, nil
}
