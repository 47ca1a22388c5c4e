package xpkg

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/xpkg"
)

// LintClusterRoles returns an xpkg.Rule that warns of a kind in a template of a Composition if
// Crossplane may not compose the kind, and no ClusterRole in the files at paths grants it. The
// rule does not report kinds that another package may define. If others is true, or if package
// metadata at paths depends on Providers or Configurations, these are all kinds except the kinds
// of Kubernetes.
func LintClusterRoles(paths []string, others bool) xpkg.Rule {
	return func(ctx context.Context, objects []xpkg.Document) xpkg.Problems {
		composites := sync.OnceValue(func() map[kschema.GroupKind]bool {
			all := map[kschema.GroupKind]bool{}
			for gk := range definitions(objects) {
				all[gk] = true
			}
			return all
		})
		files := sync.OnceValue(func() grants { return readGrants(ctx, paths, others) })
		var found xpkg.Problems
		for _, o := range objects {
			if o.Kind != apiextv1.CompositionKind || ctx.Err() != nil {
				continue
			}
			if e, err := composition.Decode(document(o)); err == nil {
				found = append(found, missingRoles(e, composites, files)...)
			}
		}
		return found
	}
}

// missingRoles returns a problem for each kind in the templates of a Composition that needs another
// ClusterRole.
func missingRoles(e composition.Entry, composites func() map[kschema.GroupKind]bool, files func() grants) xpkg.Problems {
	var found xpkg.Problems
	bases, _ := composition.TemplateBases(e)
	seen := map[kschema.GroupKind]bool{}
	lines := sync.OnceValue(e.Document.Lines)
	for _, b := range bases {
		gvk := (&unstructured.Unstructured{Object: b.Object}).GroupVersionKind()
		if gvk.Kind == "" || seen[gvk.GroupKind()] || composition.MayCompose(b.Object, composites()) || files().has(gvk) {
			continue
		}
		seen[gvk.GroupKind()] = true
		found = append(found, xpkg.Problem{
			Rule: "cluster-role", Warning: true, Path: e.Document.Path, Line: lines().Of(b.Field),
			Text: fmt.Sprintf("Crossplane may not compose %s of %s without a ClusterRole that aggregates to its own", gvk.Kind, gvk.GroupVersion()),
			Hint: "print the ClusterRole with xfn rbac, and write it to a file of the examples or beside the package; a package cannot contain it",
		})
	}
	return found
}

type grants struct {
	roles   []map[string]any
	plurals map[kschema.GroupKind]string
	// others is true if other packages may define kinds.
	others bool
}

// readGrants reads the files and folders at paths that exist. Other rules report files that
// cannot be read.
func readGrants(ctx context.Context, paths []string, others bool) grants {
	g := grants{plurals: map[kschema.GroupKind]string{}, others: others}
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Stat(path)
		return path == "" || err != nil
	})
	visit := func(_ manifest.Document, obj map[string]any) {
		switch gk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind(); {
		case gk.Kind == "ClusterRole":
			g.roles = append(g.roles, obj)
		case gk.Group == "meta.pkg.crossplane.io":
			g.others = g.others || slices.ContainsFunc(lock.ReadDependsOn(obj), func(d lock.DependsOn) bool { return d.Kind != "Function" })
		}
	}
	for _, path := range paths {
		all, _ := inspect.CollectCRDs(ctx, []string{path}, inspect.CRDOptions{
			Files: manifest.Reader{FS: afero.NewOsFs()}, Follow: inspect.FollowNone, Offline: true, Faulty: func(error) {}, Visit: visit,
		})
		for _, d := range all {
			g.plurals[kschema.GroupKind{Group: d.Group, Kind: d.Kind}] = d.Plural
		}
	}
	return g
}

// has reports whether a ClusterRole grants a kind, or another package may define it.
func (g grants) has(gvk kschema.GroupVersionKind) bool {
	if _, ok := schema.FindKind(gvk); g.others && !ok {
		return true
	}
	resource, _ := composition.ResourceOf(gvk, func(gk kschema.GroupKind) string { return g.plurals[gk] })
	return composition.RolesGrant(g.roles, resource)
}
