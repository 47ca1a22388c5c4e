package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/clusterdiff"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
)

// DiffCmd is xfn diff.
type DiffCmd struct {
	Composition string `arg:"" help:"File or folder of the new Compositions and XRDs, or - for stdin."`
	Functions   string `arg:"" optional:"" help:"File or folder of Functions. Optional if each step is a builtin or named by --package."`

	Observed            []string          `short:"o" required:"" sep:"none" placeholder:"PATH" help:"Existing resources: the output of 'kubectl get -o yaml', or a folder of such files. Repeatable."`
	From                []string          `sep:"none" placeholder:"PATH" help:"File or folder of the old Compositions, to find removed fields. Default: the Compositions in --observed. Repeatable."`
	RequiredResources   []string          `short:"e" sep:"none" placeholder:"PATH" help:"File or folder of resources that functions may require, in addition to --observed. Repeatable."`
	FunctionCredentials []string          `more:"" sep:"none" placeholder:"PATH" help:"File or folder of Secrets with credentials of functions. Repeatable."`
	ContextValues       map[string]string `more:"" mapsep:"none" placeholder:"KEY=VALUE" help:"Add YAML or JSON to the context of the functions. Repeatable."`
	Timeout             time.Duration     `more:"" positive:"" default:"10m" help:"Timeout, including the start of functions, but not builds from source. Default: ${default}."`
	ExitCode            bool              `help:"Exit with 1 if a resource would change, and with more than 1 for an error."`
	PrintKubectl        bool              `help:"Print kubectl commands that get the objects that --observed lacks, and render nothing."`
	terminal.Format
	flags.Runtimes `group:"Functions:"`
}

// Help is shown by --help.
func (DiffCmd) Help() string {
	return `Renders every composite resource in a dump of a cluster for which there is a Composition, and compares the output with the existing resources that its resourceRefs name. It changes nothing in the cluster.

Resources are merged as the API server does, by the schemas of Kubernetes and of the CRDs and XRDs in the dump. A field that the Composition no longer sets is shown as removed if the dump has managed fields, or if the Composition that set it is known.

Examples:

    kubectl get composite -A -o yaml --show-managed-fields > xrs.yaml
    xfn diff new.yaml -o xrs.yaml --print-kubectl | sh > rest.yaml
    xfn diff new.yaml functions.yaml -o xrs.yaml -o rest.yaml
    xfn diff new/ functions.yaml -o dump/ --from old/ --exit-code
`
}

// Run prints the changes.
func (c *DiffCmd) Run(ctx context.Context, term *terminal.Terminal, program terminal.Program) (err error) {
	var p *project.Project
	files := manifest.Reader{FS: afero.NewOsFs()}
	for _, path := range c.From {
		if err := cmp.Or(files.CheckExists(path), files.CheckHasYAML(path)); err != nil {
			return &terminal.UsageError{Err: hint.Wrap(fmt.Errorf("--from: %w", err), cmp.Or(hint.Of(err), "name the file or folder of the old Compositions"))}
		}
	}
	if err := files.CheckHasYAML(c.Composition); err != nil {
		return fmt.Errorf("loading Compositions: %w", err)
	}
	if c.Functions == "" {
		if p, err = flags.FindProject(ctx, term, c.Composition); err != nil {
			return err
		}
	}
	config, err := c.FullConfig(ctx, term, program, p, c.Functions)
	if err != nil {
		return err
	}
	config.Reader.Streams = &proc.Memo[string, []byte]{}
	ctx, cancel := terminal.WithTimeout(ctx, c.Timeout)
	defer cancel()
	s := session.Open(config)
	defer func() { err = terminal.Close(ctx, s.Close, err) }()
	in := session.Inputs{
		Compositions: []string{c.Composition}, Observed: c.Observed, Required: c.RequiredResources, Credentials: c.FunctionCredentials, ContextValues: c.ContextValues,
	}
	if c.PrintKubectl {
		in.Live = true
		return printKubectl(ctx, term, s, in)
	}
	all := summary{CompositeResources: []clusterdiff.Diff{}}
	err = clusterdiff.Compute(ctx, s, in, c.From, term.Progress, func(i clusterdiff.Diff) error {
		if i.Err != nil {
			term.Fault(fmt.Errorf("%s: %w", subject(i), i.Err))
		}
		all.add(i)
		return nil
	})
	if errors.As(err, new(*session.NoCompositionError)) {
		err = hint.Wrap(err, diffOrder)
	}
	if err != nil {
		return terminal.Cause(ctx, err)
	}
	if len(all.CompositeResources) == 0 {
		term.Warn(nothingObserved(ctx, s, in))
	}
	if n := all.Resources.Missing; n > 0 {
		term.Warn(countAre(n) + " not in the dump: --print-kubectl prints commands that get the rest")
	}
	if err := c.Print(term, all, all.text(term.Style(term.Stdout))); err != nil {
		return err
	}
	return all.verdict(c.ExitCode)
}

// nothingObserved returns the warning for a dump without a composite resource of the Compositions.
func nothingObserved(ctx context.Context, s *session.Session, in session.Inputs) string {
	const text = "--observed has no composite resource for which there is a Composition"
	in.Live = true
	// The files were read before without an error.
	switch m, err := s.Missing(ctx, in); {
	case err != nil || len(m.Composed) == 0:
	case len(m.Kinds) == 0:
		return text + ": it has no objects\nhint: write a dump with kubectl get KIND --all-namespaces -o yaml, or see --print-kubectl"
	case m.Candidates:
		return text + ": each selects another one\nhint: correct compositionRef, or name the directory of all Compositions"
	case len(m.Kinds) > 0:
		return fmt.Sprintf("%s: it has %s, and the Compositions are for %s\nhint: correct the kinds, or name a dump with these composite resources", text, some(m.Kinds), some(m.Composed))
	}
	return text + "\nhint: " + diffOrder
}

// some joins up to five names.
func some(names []string) string {
	if n := len(names); n > 5 {
		names = append(slices.Clone(names[:5]), fmt.Sprintf("%d more", n-5))
	}
	return strings.Join(names, ", ")
}

const diffOrder = "the order is Composition, functions, as in xfn diff composition.yaml functions.yaml -o dump.yaml; -o names what the cluster has"

// A summary is the output of xfn diff --format json.
type summary struct {
	CompositeResources []clusterdiff.Diff `json:"compositeResources"`
	// Changed, Failed and Unknown count composite resources, Resources composed resources.
	// Unknown are unchanged, except for resources that could not be compared.
	Changed   int `json:"changed"`
	Failed    int `json:"failed"`
	Unknown   int `json:"unknown"`
	Resources struct {
		Added   int `json:"added"`
		Changed int `json:"changed"`
		Removed int `json:"removed"`
		// Orphaned resources stay in the cluster. Missing resources are not in the dump.
		Orphaned int `json:"orphaned"`
		Missing  int `json:"missing"`
		// Unconverted resources have another version in the dump.
		Unconverted int `json:"unconverted"`
	} `json:"resources"`
}

func (s *summary) add(i clusterdiff.Diff) {
	s.CompositeResources = append(s.CompositeResources, i)
	switch {
	case i.Err != nil:
		s.Failed++
	case len(i.Changes) > 0:
		s.Changed++
	case len(i.Missing) > 0, len(i.Unconverted) > 0:
		s.Unknown++
	}
	for _, c := range i.Changes {
		switch c.Op {
		case report.Added:
			s.Resources.Added++
		case report.Changed:
			s.Resources.Changed++
		case report.Removed:
			s.Resources.Removed++
		case report.Orphaned:
			s.Resources.Orphaned++
		}
	}
	s.Resources.Missing += len(i.Missing)
	s.Resources.Unconverted += len(i.Unconverted)
}

func (s *summary) text(style report.Style) string {
	var diffs strings.Builder
	for _, i := range s.CompositeResources {
		diffs.WriteString(diffText(i, style))
	}
	total, r := len(s.CompositeResources), s.Resources
	text := fmt.Sprintf("%s: %d would change, %d would not", terminal.Count(total, "composite resource"), s.Changed, total-s.Changed-s.Failed-s.Unknown)
	text += optional(s.Unknown, "unknown")
	text += fmt.Sprintf("\ncomposed resources: %d added, %d changed, %d removed", r.Added, r.Changed, r.Removed)
	text += optional(r.Orphaned, "orphaned") + optional(r.Missing, "not in the dump") + optional(r.Unconverted, "not compared")
	for _, note := range s.notes() {
		text += "\nnote: " + terminal.Printable(note)
	}
	return diffs.String() + text + "\n"
}

func optional(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s", n, what)
}

// diffText returns the changes of one XR, and the composed resources that were not compared.
func diffText(i clusterdiff.Diff, style report.Style) string {
	var unknown strings.Builder
	for _, m := range i.Missing {
		fmt.Fprintln(&unknown, terminal.Printable(fmt.Sprintf("  ? %s (%s) is not in the dump", named(m.Kind, m.Namespace, m.Name), m.APIVersion)))
	}
	for _, u := range i.Unconverted {
		fmt.Fprintln(&unknown, terminal.Printable(fmt.Sprintf("  ? %s (%s) was not compared: the Composition composes %s, and only an API server can convert it", named(u.Kind, u.Namespace, u.Name), u.APIVersion, u.Desired)))
	}
	if len(i.Changes) == 0 && unknown.Len() == 0 {
		return ""
	}
	var changes strings.Builder
	_ = report.WriteChanges(&changes, i.Changes, style) // A strings.Builder never fails.
	return terminal.Lines(terminal.Printable(changeTitle(i)), changes.String()+unknown.String())
}

// notes returns a note for the kind and the reason of each Guess, without duplicates.
func (s *summary) notes() (notes []string) {
	for _, i := range s.CompositeResources {
		for _, g := range i.Guesses {
			note := fmt.Sprintf("%s (%s) %s", g.Kind, g.APIVersion, g.Reason)
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

func subject(i clusterdiff.Diff) string { return named(i.Kind, i.Namespace, i.Name) }

func named(kind, namespace, name string) string {
	return strings.TrimSpace(kind + " " + strings.TrimPrefix(namespace+"/"+name, "/"))
}

func changeTitle(i clusterdiff.Diff) string {
	s := subject(i)
	if i.Composition != "" {
		s += " by Composition " + i.Composition
	}
	if i.Pinned {
		s += ", after it selects the new revision (compositionUpdatePolicy: Manual)"
	}
	return s + ":"
}

// ErrChanges is the error of diff with --exit-code if something would change.
var ErrChanges = errors.New("the Compositions would add, change or remove resources")

func (s *summary) verdict(exitCode bool) error {
	switch {
	case exitCode && len(s.CompositeResources) == 0:
		return errors.New("whether anything would change is unknown, because nothing was compared")
	case s.Failed > 0:
		return fmt.Errorf("%d of %d composite resources failed", s.Failed, len(s.CompositeResources))
	case exitCode && s.Changed > 0:
		return ErrChanges
	case exitCode && s.Resources.Missing > 0:
		return errors.New("whether anything would change is unknown, because the dump is not complete")
	case exitCode && s.Resources.Unconverted > 0:
		return hint.Wrap(errors.New("whether anything would change is unknown, because the dump has other versions than the Compositions"), "get the resources in the version that the Composition composes, as in kubectl get deployments.v1.apps")
	}
	return nil
}

func countAre(n int) string {
	if n == 1 {
		return "1 composed resource is"
	}
	return terminal.Count(n, "composed resource") + " are"
}

func printKubectl(ctx context.Context, term *terminal.Terminal, s *session.Session, in session.Inputs) error {
	missing, err := s.Missing(ctx, in)
	if err != nil {
		return err
	}
	commands, err := kubectl(missing)
	if err != nil {
		return err
	}
	if len(commands) == 0 {
		term.Note("the dump has all resources that the composite resources name, and their Compositions")
		return nil
	}
	_, err = io.WriteString(term.Stdout, strings.Join(commands, "\necho ---\n")+"\n")
	return err
}

// objectArgument and namespaceName match arguments of kubectl that a shell does not change.
// The names are from a dump, which is untrusted.
var (
	objectArgument = proc.Regexp(`^[A-Za-z][A-Za-z0-9]*(\.[a-z0-9.-]+)?/[A-Za-z0-9][A-Za-z0-9.:_-]*$`)
	namespaceName  = proc.Regexp(`^([a-z0-9][a-z0-9-]*)?$`)
)

// kubectl returns commands that print the resources that a dump lacks, as YAML.
func kubectl(missing session.Missing) (commands []string, err error) {
	const (
		format       = " -o yaml --show-managed-fields --ignore-not-found"
		most         = 100 // resources in one command
		compositions = "compositions.apiextensions.crossplane.io,compositeresourcedefinitions.apiextensions.crossplane.io"
	)
	arguments := map[string][]string{}
	for _, ref := range missing.Resources {
		argument := kubectlKind(ref) + "/" + ref.Name
		if !objectArgument().MatchString(argument) || !namespaceName().MatchString(ref.Namespace) {
			return nil, fmt.Errorf("resourceRefs name the resource %q in namespace %q, which are not valid names", argument, ref.Namespace)
		}
		arguments[ref.Namespace] = append(arguments[ref.Namespace], argument)
	}
	for _, namespace := range slices.Sorted(maps.Keys(arguments)) {
		all := arguments[namespace]
		slices.Sort(all)
		command := "kubectl get"
		if namespace != "" {
			command += " -n " + namespace
		}
		for part := range slices.Chunk(slices.Compact(all), most) {
			commands = append(commands, command+format+" "+strings.Join(part, " "))
		}
	}
	if missing.Compositions {
		commands = append(commands, "kubectl get -o yaml "+compositions)
	}
	return commands, nil
}

// kubectlKind returns the kind of an object as kubectl reads it: KIND.VERSION.GROUP, or KIND
// for the core group.
func kubectlKind(ref session.Reference) string {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if gvk.Group == "" {
		return gvk.Kind
	}
	return gvk.Kind + "." + gvk.Version + "." + gvk.Group
}
