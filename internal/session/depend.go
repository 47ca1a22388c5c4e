package session

import (
	"context"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// A Resolver selects versions of packages.
type Resolver interface {
	// Reference returns the reference of the version that satisfies a
	// dependency. Errors have the position of the dependency.
	Reference(ctx context.Context, d lock.Dependency) (string, error)
}

// depend adds the functions that pipelines use and packages depend on.
func (s *Session) depend(ctx context.Context, p *plan, entries []composition.Entry) error {
	if len(p.dependencies) == 0 || s.config.Replay != nil {
		return nil
	}
	for _, name := range functionNames(nil, entries...) {
		_, given := s.config.Packages[name]
		if _, known := p.functions[name]; known || given || s.config.Runners[name] != nil {
			continue
		}
		d, ok := lock.Named(p.dependencies, name)
		if !ok {
			continue
		}
		pkg, ok := s.standIn(d)
		if !ok || s.config.Locked {
			var err error
			if pkg, err = s.config.Dependencies.Reference(ctx, d); err != nil {
				return err
			}
		}
		p.functions[name] = runtimes.Function{Name: name, Package: pkg, Annotations: s.config.Annotations}
	}
	return nil
}

// standIn returns the version that a builtin implements, if the dependency
// allows it and the builtin will run. No registry needs to be asked then.
func (s *Session) standIn(d lock.Dependency) (string, bool) {
	runtime := s.config.Runtime
	if runtime == Auto {
		runtime, _ = ParseRuntime(s.config.Annotations[AnnotationRuntime]) // choose reports the mismatch.
	}
	b, ok := s.config.Builtins.For(d.Package)
	if runtime == Builtin {
		b, ok = s.config.Builtins.Forced(d.Package)
	}
	switch {
	case runtime != Auto && runtime != Builtin:
		return "", false
	case !ok || s.config.Crosscheck || lock.IsDigest(d.Version):
		return "", false
	case d.Version == "":
		return d.Package, true
	case lock.IsExact(d.Version):
		return d.Package + ":" + d.Version, true
	default:
		return d.Package + ":" + b.Measured, lock.Allows(d.Version, b.Measured)
	}
}

func objectNames(all []lock.Dependency) string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.ObjectName()
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
