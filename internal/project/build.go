package project

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
	"github.com/xfn-dev/xfn/xpkg"
)

// tolerated are the rules whose problems do not prevent a build, as in the crossplane CLI: the file
// of packages needs no registry, a cluster chooses the names of the objects for packages, and only
// a cluster resolves their dependencies.
var tolerated = []string{xpkg.RuleDependencyPackage, xpkg.RuleDependencyVersion, xpkg.RuleDuplicateDependency, xpkg.RuleMetadataName}

// Options are the options of Build.
type Options struct {
	// Jobs is how many functions are built at a time. Zero means the number of processors.
	Jobs int
	// Platforms replace the architectures of the project.
	Platforms []v1.Platform
	// Lint says which problems are errors, and Rules are additional rules.
	Lint  xpkg.Level
	Rules []xpkg.Rule
	// Base opens the images at a reference, for these platforms. It applies the project's
	// rewrites. It is required for functions with source.
	Base func(ctx context.Context, reference string, platforms []v1.Platform) (*runtimeimage.Images, error)
	// Artifacts are files that languages need.
	Artifacts language.Artifacts
	// Images are the options of runtime images, except Platforms.
	Images runtimeimage.Options
}

// Build builds the packages of a project: each embedded function for each architecture, and
// the Configuration, which depends on them by their digests. The result depends only on the
// content of the project's files and the base images. The caller closes it.
func Build(ctx context.Context, p *Project, o Options) (_ *Set, err error) {
	set := &Set{Repository: p.Repository}
	defer func() {
		if err != nil {
			err = errors.Join(err, set.Close())
		}
	}()
	functions, err := p.Functions()
	if err != nil {
		return nil, err
	}
	pkg, err := p.read(ctx, functions, o)
	if err != nil {
		return nil, err
	}
	set.Warnings = pkg.Warnings
	if err := set.build(ctx, p, functions, o); err != nil {
		return nil, err
	}
	for i, f := range set.Functions {
		digest, err := f.Index.Digest()
		if err != nil {
			return nil, fmt.Errorf("finding the digest of %q: %w", f.Repository, err)
		}
		pkg.YAML = bytes.Replace(pkg.YAML, []byte(placeholder(i)), []byte(digest.String()), 1)
	}
	set.Objects = len(pkg.Objects)
	o.Images.Progress.Step("building the Configuration")
	a, err := xpkg.Build(pkg, nil, xpkg.BuildOptions{Docker: true})
	if err != nil {
		return nil, fmt.Errorf("building the Configuration %q: %w", p.Name, err)
	}
	set.Configuration, _ = a.(v1.Image)
	return set, nil
}

// read reads the content of the Configuration, with placeholders for the digests of
// functions, and lints the project.
func (p *Project) read(ctx context.Context, functions []Function, o Options) (*xpkg.Package, error) {
	meta, err := p.configurationMetadata(functions)
	if err != nil {
		return nil, err
	}
	files, found, err := p.collect()
	if err != nil {
		return nil, err
	}
	sources := []xpkg.Source{meta}
	for _, f := range files {
		sources = append(sources, f.Source)
	}
	if _, err := p.Existing(p.Paths.Examples); err != nil {
		return nil, err
	}
	opts := xpkg.ReadOptions{ExamplesRoot: p.Dir(p.Paths.Examples), ExamplesOptional: true, Lint: o.Lint}
	opts.Tolerated = tolerated
	opts.Without = []string{xpkg.RuleFunctionName} // The rule function-ref finds more.
	opts.Rules = append(slices.Clone(o.Rules), p.rules(functions, found)...)
	pkg, err := xpkg.ReadSources(ctx, fmt.Sprintf("project %q", p.Name), sources, afero.NewOsFs(), opts)
	if err != nil {
		return nil, p.explain(err)
	}
	pkg.Warnings = p.inFile(pkg.Warnings)
	return pkg, nil
}

// explain removes the lines of problems in generated metadata from an error.
func (p *Project) explain(err error) error {
	var found xpkg.Problems
	if errors.As(err, &found) {
		return p.inFile(found)
	}
	return err
}

// inFile converts problems in generated metadata to problems of fields of the project file, from
// which the metadata was generated. It returns each problem once. If the field is not known, the
// line is 0.
func (p *Project) inFile(found xpkg.Problems) (all xpkg.Problems) {
	var fields []string // Pairs of a field of the metadata and the corresponding field of the project file.
	for _, d := range p.Dependencies {
		if d.XPkg != nil && !d.XPkg.APIOnly {
			at := d.Field
			if p.Dialect == Crossplane {
				at += ".xpkg"
			}
			fields = append(fields, fmt.Sprintf("spec.dependsOn[%d]", len(fields)/2), at)
		}
	}
	inFile, lines := strings.NewReplacer(fields...), p.doc.Lines()
	for _, f := range found {
		var i int
		_, err := fmt.Sscanf(f.Field, "spec.dependsOn[%d]", &i)
		switch {
		case f.Path != p.Path || f.Rule == ruleUnusedFunction || f.Rule == ruleLeftOut:
		case f.Rule == xpkg.RuleMetadataName && len(validation.IsDNS1123Subdomain(p.Name)) > 0:
			f.Line = lines.Of("metadata.name")
			f.Text = fmt.Sprintf("metadata.name is %q, which Kubernetes does not allow", p.Name)
		case err == nil && i < len(fields)/2:
			f.Field, f.Text = inFile.Replace(f.Field), inFile.Replace(f.Text)
			f.Line = lines.Of(f.Field)
		case err == nil: // The dependency is an embedded function, whose repository begins with the project's.
			_, is, _ := strings.Cut(f.Text, " ")
			if _, problem, ok := strings.Cut(is, `", `); ok {
				is = fmt.Sprintf("is %q, %s", p.Repository, problem)
			}
			f.Field, f.Text = "spec.repository", "spec.repository "+inFile.Replace(is)
			f.Line = lines.Of(f.Field)
		default:
			f.Line = 0
		}
		if strings.Contains(f.Hint, string(hint.Ignore)) {
			f.Hint = "move it to a file outside of the directories of APIs, operations and examples"
		}
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// placeholder stands for the digest of a function's package until the package is built. It is
// a hash, because users write digests of zeros in their descriptions.
func placeholder(i int) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "digest of function %d", i)))
}

// build builds the packages of the functions, several at once.
func (s *Set) build(ctx context.Context, p *Project, functions []Function, o Options) error {
	sources, err := p.languages(functions)
	if err != nil {
		return err
	}
	s.Functions = make([]FunctionPackage, len(functions))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, cmp.Or(o.Jobs, runtime.GOMAXPROCS(0))))
	b := &builder{Options: o, project: p, set: s}
	for i, f := range functions {
		g.Go(func() (err error) {
			if s.Functions[i], err = b.function(ctx, f, sources[i]); err != nil {
				return fmt.Errorf("building function %q: %w", f.Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}
