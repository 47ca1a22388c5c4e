package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/schema"
)

const (
	autoReadyPackage = "xpkg.crossplane.io/crossplane-contrib/function-auto-ready"
	autoReadyName    = "crossplane-contrib-function-auto-ready"
)

// APIOptions are the options of Composition.
type APIOptions struct {
	// Name is a prefix of the Composition's name, or "".
	Name string
	// Plural replaces the plural of the kind.
	Plural string
	// Path is the path of the new file, relative to the directory of APIs. The default is in
	// a directory with the name of the plural.
	Path string
}

// Composition writes a Composition for the XRs of an XRD, with a pipeline of
// function-auto-ready, and adds the function to the dependencies. It needs no network,
// because the package of function-auto-ready has no APIs from which models are generated.
// It returns the path of the file.
func Composition(ctx context.Context, p *project.Project, xrd string, o APIOptions) (string, error) {
	xrd = locate(p, xrd)
	obj, doc, err := manifest.Reader{FS: afero.NewOsFs()}.FirstObject(ctx, xrd)
	if err != nil {
		return "", err
	}
	u := unstructured.Unstructured{Object: obj}
	if u.GetKind() != "CompositeResourceDefinition" {
		_, err := schema.NewXRD(obj)
		return "", &manifest.Error{Path: xrd, Line: doc.FirstLine(), Err: hint.Wrap(err, "name the file of an XRD, which xfn xrd generate writes for an XR")}
	}
	group, kind := fieldpath.Text(obj, "spec", "group"), fieldpath.Text(obj, "spec", "names", "kind")
	plural := cmp.Or(o.Plural, fieldpath.Text(obj, "spec", "names", "plural"))
	version := referenceable(obj)
	if group == "" || kind == "" || plural == "" || version == "" {
		return "", doc.ErrorOf("spec", errors.New("expected an XRD with a group, a kind, a plural, and a version that is served and referenceable"))
	}
	name, file := strings.ToLower(plural+"."+group), "composition.yaml"
	if o.Name != "" {
		name, file = strings.ToLower(o.Name)+"."+name, "composition-"+o.Name+".yaml"
	}
	path, err := newFile(p, o.Path, strings.ToLower(plural)+"/"+file)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(p.Packages(false), func(d project.Package) bool { return d.Package == autoReadyPackage }) {
		d := project.Dependency{Type: "xpkg", XPkg: &project.Package{
			APIVersion: "pkg.crossplane.io/v1", Kind: "Function", Package: autoReadyPackage, Version: anyVersion, Key: "package",
		}}
		if _, err := update(ctx, p.Path, func() (*Edit, error) { return edited(ctx, p.Path, d) }); err != nil {
			return "", err
		}
	}
	return path, writeObject(path, 0o644, map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"compositeTypeRef": map[string]any{"apiVersion": group + "/" + version, "kind": kind},
			"mode":             "Pipeline",
			"pipeline":         []any{map[string]any{"step": autoReadyName, "functionRef": map[string]any{"name": autoReadyName}}},
		},
	})
}

// referenceable returns the version of an XRD that Compositions can compose for, or "".
func referenceable(xrd map[string]any) string {
	versions, _, _ := unstructured.NestedSlice(xrd, "spec", "versions")
	for _, v := range versions {
		if v, _ := v.(map[string]any); v["served"] == true && v["referenceable"] == true {
			name, _ := v["name"].(string)
			return name
		}
	}
	return ""
}

// newFile returns the path of a new file in the directory of APIs. A file that exists is an
// error.
func newFile(p *project.Project, given, standard string) (string, error) {
	given = cmp.Or(given, standard)
	if !filepath.IsLocal(given) {
		return "", fmt.Errorf("the path %q must be in the directory of APIs", given)
	}
	path := filepath.Join(p.Dir(p.Paths.APIs), given)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, hint.Wrap(fmt.Errorf("the file %q already exists", path), "remove it, or choose another path")
	}
	return path, nil
}

func writeObject(path string, mode os.FileMode, obj map[string]any) error {
	var b strings.Builder
	if err := manifest.Write(&b, obj); err != nil {
		return err
	}
	return fsx.WriteInDir(path, mode, []byte(strings.TrimPrefix(b.String(), "---\n")))
}
