package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// A choice is a function of the pipeline and the runtime that was chosen for it.
type choice struct {
	fn      runtimes.Function
	runtime Runtime
	// given is true if Config.Packages has the package, and isFile if it is a path.
	given, isFile bool
	// builtin runs the function if runtime is Builtin. With any other runtime, if
	// builtin has a Name, its responses are compared with the function's.
	builtin builtin.Builtin
	// templates is the folder from which builtin reads templates if the package is a folder
	// with templates. replaced is the package that builtin replaces.
	templates, replaced string
	// annotated are the settings of builtin in the annotations of the Function.
	annotated builtin.Settings
}

// choose selects a runtime for each of the functions called names, except those
// in Config.Runners.
func (s *Session) choose(ctx context.Context, names []string, fns map[string]runtimes.Function) ([]choice, error) {
	var choices []choice
	for _, name := range names {
		if s.config.Runners[name] != nil {
			continue
		}
		chosen, err := s.chooseOne(ctx, fns[name])
		if err == nil && s.config.Verify != nil {
			chosen, err = s.verified(ctx, chosen)
		}
		if err == nil && s.config.Crosscheck {
			chosen, err = chosen.crosschecked()
		}
		if err == nil && chosen.builtin.Name != "" {
			chosen.annotated, err = chosen.builtin.Annotated(chosen.fn.Annotations)
		}
		if err != nil {
			return nil, fmt.Errorf("choosing a runtime for function %q: %w", name, err)
		}
		choices = append(choices, chosen)
	}
	return choices, nil
}

// verified returns c with the verified reference of its package.
func (s *Session) verified(ctx context.Context, c choice) (choice, error) {
	switch {
	case c.runtime == Builtin && !c.isFile:
		return c, nil
	case c.runtime == Development:
		return c, errors.New("a function that is running already cannot be verified")
	case c.isFile:
		return c, fmt.Errorf("%q is not in a registry, so it has no signature that could be verified", c.fn.Package)
	}
	var err error
	c.fn.Package, err = s.config.Verify(ctx, c.runtime, c.fn)
	return c, err
}

// functionNames returns the names of the functions that the pipelines of Compositions call,
// without duplicates. It leaves out functions of steps that a Runner in answers replaces.
func functionNames(answers map[string]function.Runner, compositions ...composition.Entry) []string {
	var names []string
	for _, c := range compositions {
		for _, step := range c.Spec.Pipeline {
			if name := step.FunctionRef.Name; answers[step.Step] == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// addUnlisted adds a function to l for each name in the pipeline of e that has a builtin, but is not
// in l. The builtin behaves like the newest version of the function that the version of Crossplane supports.
func (s *Session) addUnlisted(l *functionList, version reconciler.Version, e composition.Entry) {
	onlyExtra := version.Classic != nil && !version.Classic.Requirements // Functions can only require extra_resources.
	for _, name := range functionNames(nil, e) {
		b, ok := builtinFor(name)
		if !ok || s.config.Builtins.Mode == builtin.Off || l.byName[name].Name != "" {
			continue
		}
		pkg := "crossplane-contrib/" + b.Name
		if onlyExtra && b.LastExtra != "" {
			pkg += ":" + b.LastExtra
		}
		l.byName[name] = runtimes.Function{Name: name, Package: pkg}
	}
}

// builtinFor returns the builtin for the name of a Function. It is the name of the
// builtin, or the name that Crossplane's package manager gives to its package.
func builtinFor(name string) (builtin.Builtin, bool) {
	return builtin.Named(strings.TrimPrefix(name, "crossplane-contrib-"))
}

// warnUnused warns of functions in Config.Packages that no pipeline calls, or calls Config.Used.
func (s *Session) warnUnused(compositions ...composition.Entry) {
	if used := functionNames(nil, compositions...); s.config.Used != nil {
		s.config.Used(used)
	} else {
		WarnUnused(s.config.Progress, s.config.Packages, used)
	}
}

// WarnUnused warns of functions in packages that are not used.
func WarnUnused(report progress.Func, packages map[string]string, used []string) {
	for _, name := range manifest.Keys(packages) {
		if !slices.Contains(used, name) {
			report.Warn(fmt.Sprintf("no step uses function %q, for which a package is given%s", name, hint.DidYouMean(hint.Nearest(name, used))))
		}
	}
}

func (s *Session) chooseOne(ctx context.Context, fn runtimes.Function) (choice, error) {
	c := choice{fn: fn, runtime: s.config.Runtime, replaced: fn.Package}
	_, c.given = s.config.Packages[fn.Name]
	c.isFile = c.given || lock.IsPath(fn.Package)
	if c.runtime == Auto && !c.given {
		var err error
		if c.runtime, err = ParseRuntime(fn.Annotations[AnnotationRuntime]); err != nil {
			err = fmt.Errorf("annotation %s: %w", AnnotationRuntime, err)
			if s.config.Annotations[AnnotationRuntime] == "" {
				err = fmt.Errorf("%s: %w", fn.Position, err)
			}
			return c, err
		}
	}
	if fn.Package == "" && c.runtime != Development {
		err := errors.New("spec.package is missing")
		if fn.PackagePosition != "" {
			err = fmt.Errorf("%s: %w", fn.PackagePosition, err)
		}
		return c, hint.Wrap(err, "name the function's package with "+packageOf(fn))
	}
	if c.runtime != Development {
		if err := s.checkPackage(c); err != nil {
			return c, err
		}
	}
	if c.given && !lock.IsPath(fn.Package) {
		// Without "./" runtimes treat the path as an image reference.
		c.fn.Package = "./" + fn.Package
	}
	switch c.runtime {
	case Auto:
		return s.chooseAuto(ctx, c)
	case Builtin:
		if c.isFile && c.setTemplates() {
			return c, nil
		}
		b, ok := s.config.Builtins.Forced(fn.Package)
		if !ok || c.isFile {
			return c, hint.Wrap(fmt.Errorf("no builtin replaces package %q", oci.Redact(fn.Package)), "name a builtin with "+hint.Builtin+" REPO=NAME")
		}
		c.builtin = b
	case Development:
		if c.given {
			return c, errors.New("a package is given for the function, but runtime Development does not run packages")
		}
	}
	return c, nil
}

// checkPackage returns an error if a path in Config.Packages does not exist, or if a
// reference contains white space or upper-case letters that no repository can have. A runtime
// would report these without their position.
func (s *Session) checkPackage(c choice) error {
	fn := c.fn
	switch {
	case c.given:
		return s.config.Reader.CheckExists(fn.Package)
	case c.isFile:
		return nil
	}
	wrong, next := "", remote.InLowerCase(oci.Redact(fn.Package))
	switch {
	case strings.ContainsFunc(fn.Package, unicode.IsSpace):
		wrong, next = "white space", "write it as REGISTRY/REPOSITORY:TAG"
	case next != "":
		wrong = "a repository in upper case"
	default:
		return nil
	}
	return hint.Wrap(fmt.Errorf("%s: spec.package %q contains %s", fn.PackagePosition, oci.Redact(fn.Package), wrong), next)
}

func (s *Session) chooseAuto(ctx context.Context, c choice) (choice, error) {
	if c.isFile && runtimes.IsSource(c.fn.Package) {
		return s.chooseSource(ctx, c)
	}
	b, ok := s.config.Builtins.For(c.fn.Package)
	if c.isFile || !ok {
		return s.chooseContainer(ctx, c)
	}
	version := b.CheckVersion(c.fn.Package)
	_, asked := s.config.References[c.fn.Name]
	if asked && version != nil && s.config.Builtins.Mode != builtin.Strict {
		return s.chooseContainer(ctx, c)
	}
	c.runtime, c.builtin = Builtin, b
	if s.config.Builtins.Mode != builtin.Strict {
		return c, nil
	}
	return c, hint.Wrap(version, "name the package's file with "+packageOf(c.fn)+", or leave out "+hint.Builtins+"=strict")
}

func (s *Session) chooseSource(ctx context.Context, c choice) (choice, error) {
	lang, source, err := languages.Find(c.fn.Package)
	c.fn.Package = source
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return c, hint.Wrap(err, cmp.Or(hint.Of(err), "name the folder of the function's source, or its package, with "+packageOf(c.fn)))
	case err != nil, lang.Name == "go":
		if err == nil {
			lang.ReportUnused(source, s.config.Progress) // The builds of other languages report this themselves.
		}
		c.runtime = Process
		return c, nil
	case s.config.Builtins.Mode != builtin.Off && !s.config.Crosscheck && c.setTemplates():
		c.runtime = Builtin
		return c, nil
	default:
		return s.chooseContainer(ctx, c)
	}
}

// setTemplates sets the builtin for a folder of templates. It reports whether the package is
// such a folder.
func (c *choice) setTemplates() bool {
	lang := languages.GoTemplating()
	if found, err := lang.Detect(c.fn.Package); err != nil || !found {
		return false
	}
	c.builtin, _ = builtin.Named("function-go-templating")
	c.templates, c.replaced = c.fn.Package, lang.Base
	return true
}

func packageOf(fn runtimes.Function) hint.Hint {
	return hint.Package + " " + hint.Hint(fn.Name) + "=PATH"
}

const startIt = "start the function yourself and annotate the Function " + AnnotationRuntime + ": Development"

// chooseContainer selects the runtime for a package that contains an image.
func (s *Session) chooseContainer(ctx context.Context, c choice) (choice, error) {
	s.containers.Do(func() { s.container, s.noContainer = s.findContainer(ctx) })
	c.runtime = s.container
	if c.runtime == Auto && c.isFile {
		c.runtime = Process
	}
	if c.runtime != Auto {
		return c, nil
	}
	err := fmt.Errorf("no available runtime can run package %q", oci.Redact(c.fn.Package))
	if s.noContainer != nil {
		err = fmt.Errorf("%w: %w", err, s.noContainer)
	}
	return c, hint.Wrap(err, s.waysToRun(c.fn))
}

// findContainer returns Sandbox, or Docker if sandboxes are not available and
// an engine is. If neither is available, it returns Sandbox, and starting a
// function then fails with the reason. If this system has no runtime Sandbox,
// it returns Docker, or Auto and the reason if no engine is available.
func (s *Session) findContainer(ctx context.Context) (Runtime, error) {
	sandbox, docker := s.config.Runtimes[Sandbox], s.config.Runtimes[Docker]
	switch {
	case sandbox == nil && docker == nil:
		return Auto, nil
	case sandbox == nil:
		if err := runtimes.Probe(ctx, docker); err != nil {
			return Auto, err
		}
		return Docker, nil
	}
	forbidden := runtimes.Probe(ctx, sandbox)
	if forbidden == nil || docker == nil || runtimes.Probe(ctx, docker) != nil {
		return Sandbox, nil
	}
	s.config.Progress.Note(fmt.Sprintf("functions run in Docker, because sandboxes are not available: %v", forbidden))
	return Docker, nil
}

// waysToRun returns a hint about how to run a function for which no runtime is available.
func (s *Session) waysToRun(fn runtimes.Function) hint.Hint {
	ways := "name the package's file or its source folder with " + packageOf(fn) + ", or " + startIt
	b, ok := s.config.Builtins.Forced(fn.Package)
	switch {
	case !ok:
		return ways
	case s.config.Builtins.Mode == builtin.Off:
		return hint.Or("leave out "+hint.Builtins+"=off to use the builtin "+hint.Hint(b.Name), ways)
	default:
		return hint.Or("use the builtin "+hint.Hint(b.Name)+" with "+hint.Runtime+" Builtin or "+hint.Builtin+" REPO="+hint.Hint(b.Name), ways)
	}
}

// crosschecked returns c with the builtin of the function, if there is one, so
// that both are called and their responses compared. It returns an error if c
// runs the builtin itself.
func (c choice) crosschecked() (choice, error) {
	if c.runtime == Builtin {
		return c, hint.Wrap(fmt.Errorf("package %q runs only as a builtin, which cannot be checked against itself", oci.Redact(c.fn.Package)),
			"name the package's file with "+packageOf(c.fn)+", or "+startIt)
	}
	if !c.setTemplates() {
		c.builtin, _ = builtinFor(c.fn.Name)
	}
	return c, nil
}

// resolve returns pkg. If pkg is a relative path of a file that exists in dir,
// the folder of the functions file, resolve returns the path joined with dir.
func (s *Session) resolve(dir, pkg string) string {
	if !lock.IsPath(pkg) || filepath.IsAbs(pkg) {
		return pkg
	}
	beside := filepath.Join(dir, pkg)
	if ok, err := afero.Exists(s.config.Reader.FS, beside); err != nil || !ok {
		return pkg
	}
	if !lock.IsPath(beside) {
		// Without "./" the path would be treated as an image reference.
		return "./" + beside
	}
	return beside
}
