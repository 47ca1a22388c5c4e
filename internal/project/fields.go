package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/schema"
)

func (r *reader) repository(repository string) {
	const field = "spec.repository"
	if repository == "" {
		r.fail(field, "%s must not be empty", field)
		return
	}
	host, _, _ := strings.Cut(repository, "/")
	if err := r.p.SetRepository(repository); err != nil {
		r.fail(field, "%s %w", field, err)
	} else if r.p.Dialect == Upbound && !strings.ContainsAny(host, ".:") && host != "localhost" {
		r.fail(field, "%s is %q, which has no host, expected a repository such as registry.example.org/acme/demo", field, repository)
	}
}

// SetRepository replaces the repository of the project, and so the repositories of its functions.
func (p *Project) SetRepository(repository string) error {
	p.Repository = repository
	if err := remote.CheckRepository(repository); err != nil {
		return fmt.Errorf("is not valid: %w", err)
	}
	return nil
}

func (r *reader) paths(given Paths) {
	r.p.Paths = given
	for _, dir := range r.p.Paths.named() {
		r.local("spec.paths."+dir.name, *dir.path)
		*dir.path = path.Clean(cmp.Or(*dir.path, dir.name))
	}
	if r.p.Paths.APIs == "." {
		r.fail("spec.paths.apis", "spec.paths.apis is the project's own directory, expected a directory in it")
	}
	switch r.p.APIVersion {
	case upboundV1:
		r.p.Paths.Operations, r.p.Paths.Schemas = "", ".up"
	case upboundV2:
		r.p.Paths.Schemas = ".up"
	}
	r.schemasPath()
}

// A namedPath is a path by its field in spec.paths, which is also its default.
type namedPath struct {
	name string
	path *string
}

func (p *Paths) named() []namedPath {
	return []namedPath{
		{"apis", &p.APIs}, {"functions", &p.Functions}, {"examples", &p.Examples}, {"tests", &p.Tests}, {"operations", &p.Operations}, {"schemas", &p.Schemas},
	}
}

// absent says that the directory of a field of spec.paths does not exist, and which directory was
// probably meant. It returns "" if the directory exists, or has the default name, which is the name
// of the field.
func (p *Project) absent(field, dir string) string {
	if _, err := os.Stat(p.Dir(dir)); !errors.Is(err, fs.ErrNotExist) || dir == field {
		return ""
	}
	near := field
	if _, err := os.Stat(p.Dir(field)); err != nil {
		near = ""
	}
	return fmt.Sprintf("spec.paths.%s: there is no directory %q%s", field, dir, hint.DidYouMean(near))
}

// schemasPath adds a problem for each other directory that is in the directory of
// schemas, because commands remove the directory of schemas with its content.
func (r *reader) schemasPath() {
	schemas := r.p.Paths.Schemas
	for _, other := range r.p.Paths.named() {
		if other.path != &r.p.Paths.Schemas && (schemas == "." || *other.path == schemas || strings.HasPrefix(*other.path, schemas+"/")) {
			field := "spec.paths." + other.name
			r.fail(field, "%s is %q, which is in the directory of schemas, %q: expected a separate directory, because the schemas are removed with all files", field, *other.path, schemas)
		}
	}
}

// local adds a problem for a path that leaves the project.
func (r *reader) local(field, dir string) {
	switch clean := path.Clean(dir); {
	case path.IsAbs(dir):
		r.fail(field, "%s is %q, but the path must be relative", field, dir)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		r.fail(field, "%s is %q, but the path must be in the project's directory", field, dir)
	}
}

// knownArchitectures are Go's architectures for Linux, whose names OCI images use.
var knownArchitectures = []string{
	"386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le", "riscv64", "s390x",
}

func (r *reader) architectures(given []string) {
	const field = "spec.architectures"
	switch {
	case given == nil:
		r.p.Architectures = []string{"amd64", "arm64"}
		return
	case len(given) == 0:
		r.fail(field, "%s must not be empty", field)
	}
	for i, arch := range given {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case arch == "":
			r.fail(at, "%s must not be empty", at)
			continue
		case slices.Contains(r.p.Architectures, arch):
			r.warn(at, "%s lists %q twice", field, arch)
			continue
		case !slices.Contains(knownArchitectures, arch):
			// The crossplane CLI reads any string: a runtime image in a tarball may be for another architecture.
			problem := ", which is not an architecture of Linux that Go knows: " + strings.Join(knownArchitectures, ", ")
			if near := hint.Nearest(arch, knownArchitectures); near != "" {
				problem = hint.DidYouMean(near)
			}
			r.warn(at, "%s is %q%s", at, arch, problem)
		}
		r.p.Architectures = append(r.p.Architectures, arch)
	}
}

func (r *reader) languages(given []string) {
	const field = "spec.schemas.languages"
	if given == nil {
		return
	}
	if len(given) == 0 {
		r.fail(field, "%s must not be empty: leave the field out for all languages", field)
	}
	r.p.Languages = []string{}
	for i, l := range given {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case slices.Contains(Languages, l):
			r.p.Languages = append(r.p.Languages, l)
		case l == "typescript": // Projects use it with a version of the crossplane CLI that is not released.
			r.warn(at, "%s is %q, for which no schemas are generated", at, l)
		default:
			r.fail(at, "%s is %q, expected one of %s", at, l, strings.Join(Languages, ", "))
		}
	}
}

// imageConfig adds the rewrites of an ImageConfig. The crossplane CLI ignores its apiVersion and
// kind, which may be missing, but a cluster refuses others.
func (r *reader) imageConfig(ctx context.Context, at string, c imageConfig) {
	for _, f := range []struct{ name, got, want string }{
		{"apiVersion", c.APIVersion, "pkg.crossplane.io/v1beta1"},
		{"kind", c.Kind, "ImageConfig"},
	} {
		if f.got != "" && f.got != f.want {
			r.warn(at+"."+f.name, "%s.%s is %q, expected %s", at, f.name, f.got, f.want)
		}
	}
	r.rewrite(at+".spec", c.Spec)
	if c.Spec.Registry == nil && c.Spec.Verification == nil && c.Spec.Runtime == nil {
		return // The definition has nothing to add, and decoding it takes milliseconds.
	}
	spec := map[string]any{"matchImages": []any{map[string]any{"prefix": "any"}}}
	for name, value := range map[string]any{"registry": c.Spec.Registry, "verification": c.Spec.Verification, "runtime": c.Spec.Runtime} {
		if value != nil {
			spec[name] = value
		}
	}
	gvk := kschema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1beta1", Kind: "ImageConfig"}
	obj := map[string]any{"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, "spec": spec}
	// The only error is for a version that does not exist.
	found, _ := schema.V2_3.Definition(gvk.GroupKind()).Validate(ctx, obj, schema.Options{Embedded: true})
	for _, f := range found {
		if f.Unchecked {
			continue
		}
		r.warn(at+"."+f.Field, "a cluster refuses this ImageConfig: %s%s", f, hint.DidYouMean(f.Nearest))
	}
}

// rewrite adds the rewrites of an ImageConfig. Other effects of an ImageConfig are for a
// cluster.
func (r *reader) rewrite(field string, c rewriting) {
	to, rewrite := c.RewriteImage.Prefix, field+".rewriteImage.prefix"
	if to == "" {
		return
	}
	r.prefix(rewrite, to)
	for i, m := range c.MatchImages {
		at := fmt.Sprintf("%s.matchImages[%d]", field, i)
		if m.Type != "" && m.Type != "Prefix" {
			r.warn(at+".type", "%s.type is %q, expected Prefix", at, m.Type)
		}
		if m.Prefix == "" {
			r.warn(at, "%s has no prefix, so it matches no image", at)
			continue
		}
		r.prefix(at+".prefix", m.Prefix)
		if last := to[len(to)-1]; strings.HasSuffix(m.Prefix, "/") && (last >= 'a' && last <= 'z' || last >= '0' && last <= '9') {
			r.warn(rewrite, "%s is %q, and %q, which it replaces, ends with /: either both or neither must end with /", rewrite, to, m.Prefix)
		}
		r.p.Rewrites = append(r.p.Rewrites, Rewrite{From: m.Prefix, To: to, Field: rewrite})
	}
}

// prefix warns of a prefix of references that is a URL or a pattern.
func (r *reader) prefix(field, prefix string) {
	if strings.Contains(prefix, "*") {
		r.warn(field, "%s is %q, but a prefix is not a pattern: write %q", field, prefix, prefix[:strings.Index(prefix, "*")])
	}
	if _, bare, isURL := strings.Cut(prefix, "://"); isURL {
		r.warn(field, "%s is %q, but no reference of an image has a scheme: write %q", field, prefix, bare)
	}
}

// functions validates the listed functions. As for the crossplane CLI, an empty list counts as missing.
func (r *reader) functions(listed []listedFunction) {
	if len(listed) == 0 {
		return
	}
	r.p.Listed = []Function{}
	names := map[string]int{}
	for i, l := range listed {
		at := fmt.Sprintf("spec.functions[%d]", i)
		f, ok := r.function(at, l)
		if !ok {
			continue
		}
		if first, again := names[f.Name]; again {
			r.fail(at, "%s: the name %q is already used by spec.functions[%d]", at, f.Name, first)
			continue
		}
		names[f.Name] = i
		r.p.Listed = append(r.p.Listed, f)
	}
}

// The kinds of function sources.
const (
	fromDirectory = "Directory"
	fromTarball   = "Tarball"
)

func (r *reader) function(at string, l listedFunction) (f Function, ok bool) {
	problems := len(r.errs)
	given := 0
	if l.Directory != nil {
		f.Name, given = l.Directory.Name, given+1
	}
	if l.Tarball != nil {
		f.Name, f.Tarball, given = l.Tarball.Name, l.Tarball.PathPrefix, given+1
	}
	if given != 1 {
		r.fail(at, "%s has %d sources, expected one: directory or tarball", at, given)
	}
	switch {
	case l.Source == "":
		r.fail(at, "%s.source must not be empty, expected %s or %s", at, fromDirectory, fromTarball)
	case l.Source != fromDirectory && l.Source != fromTarball:
		r.fail(at+".source", "%s.source is %q, expected %s or %s", at, l.Source, fromDirectory, fromTarball)
	case l.Source == fromDirectory && l.Directory == nil, l.Source == fromTarball && l.Tarball == nil:
		r.fail(at, "%s: the source %s requires the field %s", at, l.Source, strings.ToLower(l.Source))
	}
	if given == 1 && problems == len(r.errs) {
		r.functionName(at+"."+strings.ToLower(l.Source)+".name", f.Name)
		if prefix := at + ".tarball.pathPrefix"; l.Source == fromTarball && f.Tarball == "" {
			r.fail(prefix, "%s must not be empty", prefix)
		} else {
			r.local(prefix, f.Tarball)
		}
	}
	f.Field = at
	return f, problems == len(r.errs)
}

// functionName validates the name of a function, which becomes part of its repository and
// of its package's name.
func (r *reader) functionName(field, name string) {
	if name == "" {
		r.fail(field, "%s must not be empty", field)
	} else if len(validation.IsDNS1123Subdomain(name)) > 0 {
		r.fail(field, "%s is %q, expected lower-case letters and digits, with '-' and '.' only between them", field, name)
	}
}
