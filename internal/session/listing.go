package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/render"
)

// A functionList has the functions that pipelines can call.
type functionList struct {
	byName map[string]runtimes.Function
	// dependencies are the dependencies of the packages whose metadata is in the functions file.
	dependencies []lock.Dependency
	// metadata describes the package metadata in the functions file, with its position, or is "".
	metadata string
}

// functions returns the functions in the functions file (the last one if a name occurs twice),
// dependencies, builtins, and the functions in Config.Packages.
func (s *Session) functions(ctx context.Context, p plan, compositions ...composition.Entry) (l functionList, err error) {
	l.byName = map[string]runtimes.Function{}
	if s.config.Functions != "" {
		if err = s.listed(ctx, p.in, &l); err == nil {
			err = s.depend(ctx, &l, compositions)
		}
		if err != nil {
			return l, fmt.Errorf("loading functions: %w", err)
		}
	}
	for _, e := range compositions {
		// The conversion to a pipeline adds steps whose functions the functions file
		// need not contain.
		if s.config.Functions == "" || e.Converted {
			s.addUnlisted(&l, p.version, e)
		}
	}
	for name, ref := range s.config.References {
		if fn, known := l.byName[name]; known || strings.Contains(ref, "/") {
			if !strings.Contains(ref, "/") {
				if lock.IsPath(fn.Package) {
					err := fmt.Errorf("the function %q has no version %q, because it is built from %s", name, ref, fn.Package)
					return l, &StartError{hint.Wrap(err, "compare with another source or package of the function, or with the project at another git revision")}
				}
				ref = withTag(fn.Package, ref)
			}
			fn.Name, fn.Package = name, ref
			l.byName[name] = fn
			if s.config.Referenced != nil {
				s.config.Referenced(ref)
			}
		}
	}
	for name, pkg := range s.config.Packages {
		fn := l.byName[name]
		fn.Name, fn.Package = name, pkg
		l.byName[name] = fn
	}
	return l, nil
}

// listed adds the functions and the dependencies in the functions file to l.
func (s *Session) listed(ctx context.Context, in Inputs, l *functionList) error {
	docs, err := s.config.Reader.All(ctx, lock.Metadata(s.config.Reader.FS, s.config.Functions))
	if err != nil {
		return err
	}
	first := map[string]string{}
	for _, doc := range docs {
		one, err := s.listings.Do(doc.Key(), func() (listing, error) { return decodeListing(doc) })
		if err != nil {
			return err
		}
		if one.dependencies != nil {
			l.dependencies, l.metadata = append(l.dependencies, one.dependencies...), one.metadata
			continue
		}
		if err := s.checkGiven(ctx, in, "functions", []manifest.Document{doc}, checkFunction); err != nil {
			return err
		}
		fn := one.function
		s.warnTag(one, in.Profile)
		fn.Package = s.resolve(filepath.Dir(doc.Path), fn.Package)
		if fn.Annotations = maps.Clone(fn.Annotations); fn.Annotations == nil {
			fn.Annotations = map[string]string{}
		}
		maps.Copy(fn.Annotations, s.config.Annotations)
		doc.Line = doc.FirstLine()
		at := doc.Position()
		if before := first[fn.Name]; before != "" {
			s.once.Warn(fmt.Sprintf("%s: Function %s is also at %s: the last one is used", at, fn.Name, before))
		}
		first[fn.Name] = at
		l.byName[fn.Name] = fn
	}
	return nil
}

// warnTag warns of a package without a tag and digest, because an API server refuses the Function,
// and of a tag that no release of an official function has.
func (s *Session) warnTag(one listing, profile render.Profile) {
	fn, ref := one.function, one.reference
	if ref == nil || fn.Package == "" || lock.IsPath(fn.Package) {
		return
	}
	switch tag := "v" + ref.Identifier(); {
	case ref.Identifier() == "" && (profile == "" || profile == render.V2):
		s.once.Warn(fmt.Sprintf("%s: an API server refuses this Function: spec.package %q has neither a tag nor a digest", fn.PackagePosition, oci.Redact(fn.Package)))
	case semver.Canonical(tag) == tag && (builtin.Policy{}).Official(fn.Package) != "":
		s.once.Warn(fmt.Sprintf("%s: spec.package %q: the tags of this repository begin with v%s", fn.PackagePosition, oci.Redact(fn.Package), hint.DidYouMean(tag)))
	}
}

// A listing is a decoded document of a functions file: a function or dependencies.
type listing struct {
	function runtimes.Function
	// reference is the reference of the function's package, without a default tag. It is nil if the
	// package is not a valid reference.
	reference name.Reference
	// dependencies is not nil if the document is package metadata.
	dependencies []lock.Dependency
	// metadata describes the metadata, with its position.
	metadata string
}

// functionVersion is the apiVersion of Functions. Crossplane also has v1beta1.
const functionVersion = "pkg.crossplane.io/v1"

func decodeListing(doc manifest.Document) (listing, error) {
	u, err := decode(doc)
	if err != nil {
		return listing{}, err
	}
	spec, _ := u.Object["spec"].(map[string]any)
	if spec["package"] != nil && lock.IsMetadata(u.Object) {
		err := doc.ErrorOf("apiVersion", fmt.Errorf("%s has spec.package, but %s is the metadata of a package", composition.Describe(u), u.GetAPIVersion()))
		return listing{}, hint.Wrap(err, "write apiVersion: "+functionVersion)
	}
	if lock.IsMetadata(u.Object) {
		all, err := lock.Functions(doc, u.Object)
		what := fmt.Sprintf("%s is the metadata of a package, of %s", doc.PositionOf("kind"), composition.Describe(u))
		return listing{dependencies: append([]lock.Dependency{}, all...), metadata: what}, err
	}
	if u.GetKind() != "Function" {
		err := doc.ErrorOf("kind", fmt.Errorf("expected a Function, got %s", composition.Describe(u)))
		return listing{}, schema.SuggestKind(err, u.GetAPIVersion(), u.GetKind())
	}
	if v := u.GetAPIVersion(); v != functionVersion && v != "pkg.crossplane.io/v1beta1" {
		err := doc.ErrorOf("apiVersion", fmt.Errorf("expected a Function of apiVersion %s, got %s", functionVersion, cmp.Or(v, "none")))
		return listing{}, hint.Wrap(err, "write apiVersion: "+functionVersion)
	}
	pkg, ok, err := unstructured.NestedString(u.Object, "spec", "package")
	if err != nil || ok && pkg == "" {
		return listing{}, doc.ErrorOf("spec.package", errors.New("spec.package must be the reference or path of a package"))
	}
	if near := hint.Nearest("package", slices.Sorted(maps.Keys(spec))); !ok && near != "" {
		err := doc.ErrorOf("spec."+near, fmt.Errorf("a Function has no field spec.%s", near))
		return listing{}, hint.Wrap(err, "did you mean package?")
	}
	ref, err := name.ParseReference(pkg, name.WithDefaultTag(""))
	if err != nil {
		ref = nil
	}
	return listing{reference: ref, function: runtimes.Function{
		Name: u.GetName(), Package: pkg, Annotations: u.GetAnnotations(),
		Position: doc.PositionOf("metadata.annotations." + AnnotationRuntime), PackagePosition: doc.PositionOf("spec.package"),
	}}, nil
}

// withTag returns the reference of a package with another tag.
func withTag(pkg, tag string) string {
	pkg, _, _ = strings.Cut(pkg, "@")
	if colon := strings.LastIndexByte(pkg, ':'); colon > strings.LastIndexByte(pkg, '/') {
		pkg = pkg[:colon]
	}
	return pkg + ":" + tag
}
