package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// AnnotationRuntime on a Function chooses its Runtime.
const AnnotationRuntime = "render.crossplane.io/runtime"

// A Runtime is how a function is started for a render.
type Runtime string

const (
	// Auto chooses for each function: a builtin where one stands in for the
	// package, a process where that is a folder with source, else a sandbox, or
	// Docker where there can be none.
	Auto Runtime = ""
	// Builtin is a function that lives in this binary.
	Builtin Runtime = "Builtin"
	// Sandbox is a container of this process's making, on Linux.
	Sandbox Runtime = "Sandbox"
	// Docker is a container of an engine that this machine can reach.
	Docker Runtime = "Docker"
	// Process is the function as a child of this process: built from source, or
	// from its image as far confined as can be without a sandbox.
	Process Runtime = "Process"
	// Development is a function that somebody else runs.
	Development Runtime = "Development"
)

// ParseRuntime returns the Runtime of that name, in any case. The name "" or
// "auto" is Auto.
func ParseRuntime(name string) (Runtime, error) {
	if name == "" || strings.EqualFold(name, "auto") {
		return Auto, nil
	}
	for _, r := range []Runtime{Builtin, Sandbox, Docker, Process, Development} {
		if strings.EqualFold(name, string(r)) {
			return r, nil
		}
	}
	return "", hint.Wrap(fmt.Errorf("unknown runtime %q", name), "use Builtin, Sandbox, Docker, Process or Development")
}

// A choice is a function that the pipeline uses, and how to run it.
type choice struct {
	fn      runtimes.Function
	runtime Runtime
	// builtin is what runs, or if another runtime does, what it is to be
	// checked against; its Name is "" if there is none.
	builtin builtin.Builtin
}

// choose plans how to run each function that the pipeline uses.
func (s *Session) choose(ctx context.Context, c *apiextv1.Composition, fns map[string]runtimes.Function) ([]choice, error) {
	var choices []choice
	for _, step := range c.Spec.Pipeline {
		name := step.FunctionRef.Name
		if s.config.Runners[name] != nil || slices.ContainsFunc(choices, func(c choice) bool { return c.fn.Name == name }) {
			continue
		}
		chosen, err := s.chooseOne(ctx, fns[name])
		if err == nil && s.config.Crosscheck {
			chosen, err = chosen.crosschecked()
		}
		if err != nil {
			return nil, fmt.Errorf("choosing a runtime for function %q: %w", name, err)
		}
		choices = append(choices, chosen)
	}
	return choices, nil
}

// functionNames returns the functions that the pipelines of Compositions use.
func functionNames(compositions []*apiextv1.Composition) []string {
	var names []string
	for _, c := range compositions {
		for _, step := range c.Spec.Pipeline {
			names = append(names, step.FunctionRef.Name)
		}
	}
	return names
}

func annotated(own, all map[string]string) map[string]string {
	if own == nil {
		return all
	}
	own = maps.Clone(own)
	maps.Copy(own, all)
	return own
}

// unlisted returns the function that a name alone stands for, where there is no
// functions file: a builtin by its own name, or by the one that Crossplane's
// package manager gives it.
func (s *Session) unlisted(name string) (runtimes.Function, bool) {
	b, ok := builtinFor(name)
	if !ok || s.config.Builtins.Mode == builtin.Off {
		return runtimes.Function{}, false
	}
	return runtimes.Function{Name: name, Package: "crossplane-contrib/" + b.Name}, true
}

// builtinFor returns the builtin that a Function's name alone stands for.
func builtinFor(name string) (builtin.Builtin, bool) {
	return builtin.Named(strings.TrimPrefix(name, "crossplane-contrib-"))
}

// warnUnused warns of packages for functions that no pipeline uses.
func (s *Session) warnUnused(compositions ...*apiextv1.Composition) {
	used := functionNames(compositions)
	for _, name := range slices.Sorted(maps.Keys(s.config.Packages)) {
		if !slices.Contains(used, name) {
			s.config.Progress.Warn(fmt.Sprintf("no step uses function %q, for which a package is given", name))
		}
	}
}

func (s *Session) chooseOne(ctx context.Context, fn runtimes.Function) (choice, error) {
	c := choice{fn: fn, runtime: s.config.Runtime}
	_, given := s.config.Packages[fn.Name]
	if c.runtime == Auto && !given {
		var err error
		if c.runtime, err = ParseRuntime(fn.Annotations[AnnotationRuntime]); err != nil {
			return c, fmt.Errorf("annotation %s: %w", AnnotationRuntime, err)
		}
	}
	if fn.Package == "" && c.runtime != Development {
		return c, hint.Wrap(errors.New("it has no spec.package"), "name its package with "+hint.Package+" "+hint.Hint(fn.Name)+"=PATH")
	}
	isFile := given || lock.IsPath(fn.Package)
	switch c.runtime {
	case Auto:
		return s.chooseAuto(ctx, c, isFile)
	case Builtin:
		b, ok := s.config.Builtins.Forced(fn.Package)
		if !ok || isFile {
			return c, hint.Wrap(fmt.Errorf("no builtin stands for package %q", fn.Package), "name one with "+hint.Builtin+" REPO=NAME")
		}
		c.builtin = b
	case Docker:
		if given && !lock.IsPath(fn.Package) {
			c.fn.Package = "." + string(filepath.Separator) + fn.Package // no image's name
		}
	case Development:
		if given {
			return c, errors.New("a package is given for it, but the runtime Development runs none")
		}
	}
	return c, nil
}

func (s *Session) chooseAuto(ctx context.Context, c choice, isFile bool) (choice, error) {
	if isFile && s.isSource(c.fn.Package) {
		c.runtime = Process
		return c, nil
	}
	b, ok := s.config.Builtins.For(c.fn.Package)
	if isFile || !ok {
		return s.chooseContainer(ctx, c, isFile)
	}
	c.runtime, c.builtin = Builtin, b
	if s.config.Builtins.Mode != builtin.Strict {
		return c, nil
	}
	return c, hint.Wrap(b.CheckVersion(c.fn.Package), "name the package's file with "+hint.Package+" "+hint.Hint(c.fn.Name)+"=PATH, or leave out "+hint.Builtins+"=strict")
}

// chooseContainer chooses what runs an image: a sandbox, or where there can be
// none, an engine.
func (s *Session) chooseContainer(ctx context.Context, c choice, isFile bool) (choice, error) {
	s.containers.Do(func() { s.container, s.noContainer = s.findContainer(ctx) })
	c.runtime = s.container
	switch {
	case c.runtime != Auto:
		return c, nil
	case isFile:
		c.runtime = Process
		return c, nil
	case s.noContainer != nil:
		return c, hint.Wrap(fmt.Errorf("nothing here can run package %q: %w", c.fn.Package, s.noContainer), s.waysToRun(c.fn))
	default:
		return c, hint.Wrap(fmt.Errorf("nothing here can run package %q", c.fn.Package), s.waysToRun(c.fn))
	}
}

// findContainer returns what can run images here. It is Auto if nothing can, with
// what is in the way. Where sandboxes are forbidden and there is no engine
// either, it is Sandbox, which tells what to do about it.
func (s *Session) findContainer(ctx context.Context) (Runtime, error) {
	sandbox, docker := s.config.Runtimes[Sandbox], s.config.Runtimes[Docker]
	switch {
	case sandbox == nil && docker == nil:
		return Auto, nil
	case sandbox == nil:
		if err := probe(ctx, docker); err != nil {
			return Auto, err
		}
		return Docker, nil
	}
	forbidden := probe(ctx, sandbox)
	if forbidden == nil || docker == nil || probe(ctx, docker) != nil {
		return Sandbox, nil
	}
	s.config.Progress.Note(fmt.Sprintf("functions run by Docker, since there can be no sandbox here: %v", forbidden))
	return Docker, nil
}

// probe asks a runtime whether it could start anything.
func probe(ctx context.Context, r runtimes.Runtime) error {
	if p, ok := r.(runtimes.Prober); ok {
		return p.Probe(ctx)
	}
	return nil
}

// waysToRun says how a function could be run that no rule runs: by a builtin, if
// one has the name of its repository.
func (s *Session) waysToRun(fn runtimes.Function) hint.Hint {
	ways := "name the package's file or its source folder with " + hint.Package + " " + hint.Hint(fn.Name) + "=PATH, or start it yourself and annotate the Function " + AnnotationRuntime + ": Development"
	b, ok := s.config.Builtins.Forced(fn.Package)
	switch {
	case !ok:
		return ways
	case s.config.Builtins.Mode == builtin.Off:
		return "leave out " + hint.Builtins + "=off to use the builtin " + hint.Hint(b.Name) + "; or " + ways
	default:
		return "use the builtin " + hint.Hint(b.Name) + " with " + hint.Runtime + " Builtin or " + hint.Builtin + " REPO=" + hint.Hint(b.Name) + "; or " + ways
	}
}

// crosschecked adds to a choice the builtin that the function is to be checked
// against, if there is one.
func (c choice) crosschecked() (choice, error) {
	if c.runtime == Builtin {
		return c, hint.Wrap(fmt.Errorf("there is only the builtin for package %q, and nothing to check it against", c.fn.Package),
			"name the package's file with "+hint.Package+" "+hint.Hint(c.fn.Name)+"=PATH, or start it yourself and annotate the Function "+AnnotationRuntime+": Development")
	}
	c.builtin, _ = builtinFor(c.fn.Name)
	return c, nil
}

// isSource reports whether a path is a folder with the source of a function, and
// not one with an OCI image layout.
func (s *Session) isSource(path string) bool {
	dir, err := afero.IsDir(s.config.Reader.FS, path)
	if err != nil || !dir {
		return false
	}
	layout, err := afero.Exists(s.config.Reader.FS, filepath.Join(path, "oci-layout"))
	return err == nil && !layout
}

// resolve makes a relative path in a functions file one that is relative to
// that file's folder, if there is something.
func (s *Session) resolve(dir, pkg string) string {
	if !lock.IsPath(pkg) || filepath.IsAbs(pkg) {
		return pkg
	}
	beside := filepath.Join(dir, pkg)
	if ok, err := afero.Exists(s.config.Reader.FS, beside); err != nil || !ok {
		return pkg
	}
	if !lock.IsPath(beside) {
		return "./" + beside // it is still no reference
	}
	return beside
}
