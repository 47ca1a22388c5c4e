package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/suite"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// RBACCmd is xfn rbac.
type RBACCmd struct {
	Paths []string `arg:"" optional:"" name:"path" help:"Files or folders of Compositions, XRDs, CRDs and suites. Default: the files of the project, or the current folder."`

	WithoutRBACManager bool `name:"without-rbac-manager" help:"For a Crossplane without its RBAC manager: include managed and composite resources, and print a ClusterRoleBinding to the ServiceAccount crossplane in the namespace crossplane-system."`

	Name           string        `default:"compositions:aggregate-to-crossplane" placeholder:"NAME" help:"Name of the ClusterRole. Default: ${default}."`
	Timeout        time.Duration `more:"" positive:"" default:"10m" placeholder:"TIME" help:"Timeout of the renders of all suites. Default: ${default}."`
	flags.Runtimes `group:"Functions:"`
}

// Help is shown by --help.
func (RBACCmd) Help() string {
	return `Prints the ClusterRole that Crossplane needs to compose the resources of Compositions. It aggregates to the ClusterRole of Crossplane. Prints nothing if Crossplane needs no ClusterRole.

The ClusterRole has the kinds that the cases of suites compose, and the kinds in the templates of function-patch-and-transform. Crossplane may compose managed resources (with spec.forProvider), ProviderConfigs, composite resources (whose XRDs are among the files), and the kinds that it needs itself, such as Deployment. Plural names come from CRDs among the files, and otherwise are derived from the kinds.

Examples:

    xfn rbac composition.yaml | kubectl apply -f -
    xfn rbac apis/ tests/ --name platform:aggregate-to-crossplane
`
}

// Run prints the ClusterRole.
func (c *RBACCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) error {
	p, err := flags.FindProject(ctx, term, c.Paths...)
	if err != nil {
		return err
	}
	if err := c.defaults(p); err != nil {
		return err
	}
	config, err := c.FullConfig(ctx, term, program, p, "")
	if err != nil {
		return err
	}
	ctx, cancel := terminal.WithTimeout(ctx, c.Timeout)
	defer cancel()
	found, err := c.definitions(ctx, term, config.Reader)
	if err != nil {
		return err
	}
	items, err := c.cases(ctx, config.Reader, found)
	if err != nil {
		return err
	}
	known, err := c.compose(ctx, term, items, suite.Options{Config: config, Now: time.Now, Recording: flags.Replay}, found)
	if err != nil {
		return err
	}
	if len(items) == 0 && !found.compositions && !found.faulty {
		next := cmp.Or(found.misspelled, "name the files or folders of Compositions")
		return hint.Wrap(fmt.Errorf("%s: found neither a Composition nor a suite", strings.Join(c.Paths, ", ")), next)
	}
	if len(found.steps) > 0 && len(items) == 0 {
		known = false
		term.Warn(fmt.Sprintf("what the steps %s compose is known only after a render: name suites, too", strings.Join(found.steps, ", ")))
	}
	role, guessed := composition.ClusterRole(c.Name, found.kinds, found.composites, func(gk kschema.GroupKind) string { return found.plurals[gk] })
	if role == nil {
		if known && !found.faulty {
			term.Note("no ClusterRole is needed")
		}
		return nil
	}
	if len(guessed) > 0 {
		term.Note("the plural names of these kinds are derived from the kinds: " + strings.Join(guessed, ", "))
	}
	docs := []map[string]any{role}
	if c.WithoutRBACManager {
		docs = append(docs, composition.ClusterRoleBinding(c.Name))
	}
	return terminal.Wrap(manifest.Write(term.Stdout, docs...), "printing the ClusterRole")
}

// compose adds what the cases compose to g. It warns of each case that is skipped or fails to
// render, and known is false then. If all cases fail, compose returns an error.
func (c *RBACCmd) compose(ctx context.Context, term *terminal.Terminal, items []suite.Item, o suite.Options, g *grant) (known bool, err error) {
	known = true
	failed := 0
	err = suite.Compose(ctx, items, o, func(o suite.Outcome) error {
		switch why := o.RenderError(); {
		case o.Status == suite.Skipped:
			term.Warn(fmt.Sprintf("what %s composes is not known, because the suite skips it: %s", o.Name(), o.Reason))
			known = false
		case o.Status == suite.Failed && why != "":
			term.Warn(fmt.Sprintf("what %s composes is not known: %s", o.Name(), why))
			known = false
			failed++
		}
		g.add(o.Resources())
		return nil
	})
	if err != nil {
		return false, terminal.Cause(ctx, err)
	}
	if failed > 0 && failed == len(items) {
		return false, errors.New("all cases fail to render")
	}
	return known, nil
}

// cases returns the cases of the suites at the paths, without the files of other objects.
func (c *RBACCmd) cases(ctx context.Context, r manifest.Reader, g *grant) ([]suite.Item, error) {
	paths := slices.DeleteFunc(slices.Clone(c.Paths), func(path string) bool { return path == manifest.Stdin || g.files[path] })
	suites, err := suite.Load(ctx, r, paths)
	if errors.Is(err, suite.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	items, err := suite.Plan(suites, suite.Selection{})
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		if i.Case == nil {
			return nil, explainKind(i.Suite.Err)
		}
	}
	return items, nil
}

// explainKind returns the error of a file that is not a suite, which says what xfn rbac reads. It
// returns other errors unchanged.
func explainKind(err error) error {
	at, hasPlace := errors.AsType[*manifest.Error](err)
	got, isKind := errors.AsType[*spec.KindError](err)
	if !hasPlace || !isKind {
		return err
	}
	next := cmp.Or(hint.Meant("kind: ", schema.SimilarKind(got.APIVersion, got.Kind)), "leave the file out, and name the files of Compositions, and the suites that render them")
	return hint.Wrap(&manifest.Error{Path: at.Path, Line: at.Line, Err: fmt.Errorf("expected a Composition, an XRD, a CRD or a suite, got kind %s of %s", got.Kind, cmp.Or(got.APIVersion, "no apiVersion"))}, next)
}

// defaults sets the paths to the paths of the project p or, if p is nil, to the current folder.
func (c *RBACCmd) defaults(p *project.Project) error {
	if len(c.Paths) > 0 {
		return nil
	}
	if p == nil {
		c.Paths = []string{"."}
		return nil
	}
	for _, path := range []string{p.Paths.APIs, p.Paths.Tests} {
		some, err := p.Existing(path)
		if err != nil {
			return err
		}
		c.Paths = append(c.Paths, some...)
	}
	if len(c.Paths) == 0 {
		err := fmt.Errorf("%s: the project has no files in %s and %s", p.Path, p.Paths.APIs, p.Paths.Tests)
		return hint.Wrap(err, "write an XRD with xfn xrd generate, and a Composition with xfn composition generate")
	}
	return nil
}

// A grant collects the kinds for which Crossplane needs a ClusterRole.
type grant struct {
	composites map[kschema.GroupKind]bool
	plurals    map[kschema.GroupKind]string
	kinds      map[kschema.GroupVersionKind]bool
	// files are the paths of files with Compositions, XRDs or CRDs.
	files map[string]bool
	// compositions is true if there is a Composition, and faulty if something could not be read.
	compositions, faulty bool
	// all is true if Crossplane may compose only what its Helm chart grants.
	all bool
	// misspelled is a hint for an object with a misspelled kind, or "".
	misspelled string
	// steps are the steps whose composed kinds only a render shows.
	steps []string
}

func (g *grant) add(objs []map[string]any) {
	for _, obj := range objs {
		gvk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind()
		granted := composition.MayCompose
		if g.all {
			granted = func(map[string]any, map[kschema.GroupKind]bool) bool { return composition.InHelmChart(gvk.GroupKind()) }
		}
		if gvk.Kind != "" && !granted(obj, g.composites) {
			g.kinds[gvk] = true
		}
	}
}

// definitions reads the Compositions, XRDs and CRDs at the paths. It warns of files
// that it cannot read.
func (c *RBACCmd) definitions(ctx context.Context, term *terminal.Terminal, r manifest.Reader) (*grant, error) {
	g := &grant{all: c.WithoutRBACManager, composites: map[kschema.GroupKind]bool{}, plurals: map[kschema.GroupKind]string{}, kinds: map[kschema.GroupVersionKind]bool{}, files: map[string]bool{}}
	var compositions []composition.Entry
	warn := func(err error) {
		g.faulty = true
		term.Warn(err.Error())
	}
	all, err := inspect.CollectCRDs(ctx, c.Paths, inspect.CRDOptions{Files: r, Offline: true, Faulty: warn, Visit: func(doc manifest.Document, obj map[string]any) {
		gvk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind()
		if strings.HasPrefix(gvk.Group, "apiextensions.") {
			g.files[doc.Path] = true
			if near := schema.SimilarKind(gvk.GroupVersion().String(), gvk.Kind); near != "" {
				g.misspelled = fmt.Sprintf("%s: did you mean kind: %s?", doc.Position(), near)
			}
		}
		switch {
		case gvk.Group != apiextv1.Group:
		case gvk.Kind == apiextv1.CompositionKind:
			e, err := composition.Decode(doc)
			if err != nil {
				warn(err)
				return
			}
			compositions = append(compositions, e)
		case gvk.Kind == apiextv1.CompositeResourceDefinitionKind:
			// Collect reports an XRD that has an error.
			defs, _ := schema.Define(obj)
			for _, d := range defs {
				g.composites[d.GroupKind] = true
			}
		}
	}})
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		g.plurals[kschema.GroupKind{Group: d.Group, Kind: d.Kind}] = d.Plural
	}
	g.compositions = len(compositions) > 0
	for _, e := range compositions {
		if ref := kschema.FromAPIVersionAndKind(e.Spec.CompositeTypeRef.APIVersion, e.Spec.CompositeTypeRef.Kind); g.all && ref.Kind != "" {
			g.composites[ref.GroupKind()], g.kinds[ref] = true, true
		}
		bases, steps := composition.TemplateBases(e)
		for _, b := range bases {
			g.add([]map[string]any{b.Object})
		}
		for _, step := range steps {
			g.steps = append(g.steps, fmt.Sprintf("%q of %s", step, e.GetName()))
		}
	}
	return g, nil
}
