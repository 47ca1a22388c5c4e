package validate

import (
	"bytes"
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
)

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// stream returns the documents of files and folders. In folders, it skips documents that only xfn
// reads, and files of other tools, of which it warns.
func stream(ctx context.Context, r manifest.Reader, paths []string) iter.Seq2[manifest.Document, error] {
	return func(yield func(manifest.Document, error) bool) {
		for _, path := range paths {
			goldens := goldensIn(ctx, r, path)
			for doc, err := range r.Stream(ctx, path) {
				if what := foreign(r, path, doc.Path); what != "" {
					r.Warn(what)
					continue
				}
				if err == nil && doc.Path != path && (ours(doc) || isGolden(goldens, doc.Path)) {
					continue
				}
				if !yield(doc, err) {
					return
				}
			}
		}
	}
}

// ours reports whether a document is for xfn, and not for an API server: a suite, fixtures, or a Function
// whose package is a path.
func ours(doc manifest.Document) bool {
	if !bytes.Contains(doc.Text, []byte("xfn.dev/")) && !bytes.Contains(doc.Text, []byte("pkg.crossplane.io/")) {
		return false
	}
	obj, err := doc.Object()
	if err != nil {
		return false
	}
	switch gk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind(); {
	case gk.Group == "xfn.dev":
		return true
	case gk.Group == "pkg.crossplane.io" && gk.Kind == "Function":
		return lock.IsPath(fieldpath.Text(obj, "spec", "package"))
	}
	return false
}

// goldensIn returns the patterns of the golden files that the suites in a folder name. Golden files have
// the fields that a function writes, and not whole objects.
func goldensIn(ctx context.Context, r manifest.Reader, folder string) (patterns []string) {
	if isDir, _ := afero.IsDir(r.FS, folder); !isDir {
		return nil
	}
	for doc, err := range r.Stream(ctx, folder) {
		if err != nil || !bytes.Contains(doc.Text, []byte("golden")) || !ours(doc) {
			continue
		}
		obj, _ := doc.Object() // ours has read it.
		for _, name := range goldens(obj, false) {
			patterns = append(patterns, filepath.Join(filepath.Dir(doc.Path), parameter().ReplaceAllString(name, "*")))
		}
	}
	return patterns
}

// parameter matches a parameter in a file name of a suite, such as ${each.region}.
var parameter = proc.Regexp(`\$\{[^}]*\}`)

// goldens returns the file names in the fields golden of a suite. in means that v is in such a field.
func goldens(v any, in bool) (names []string) {
	switch v := v.(type) {
	case string:
		if in {
			names = append(names, v)
		}
	case []any:
		for _, e := range v {
			names = append(names, goldens(e, in)...)
		}
	case map[string]any:
		for key, e := range v {
			names = append(names, goldens(e, in || key == "golden")...)
		}
	}
	return names
}

func isGolden(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, _ := filepath.Match(pattern, path)
		return matched
	})
}

// foreign describes a file of another tool in a folder, or the Helm chart in the folder that has the
// file. It returns "" for other files.
func foreign(r manifest.Reader, folder, file string) string {
	if filepath.Clean(file) == filepath.Clean(folder) || file == manifest.Stdin {
		return ""
	}
	if name := filepath.Base(file); name == "kustomization.yaml" || name == "kustomization.yml" {
		return file + " is not validated, because it is a file of kustomize"
	}
	for dir := filepath.Dir(file); len(dir) > len(filepath.Clean(folder)); dir = filepath.Dir(dir) {
		if isChart, _ := afero.Exists(r.FS, filepath.Join(dir, "Chart.yaml")); isChart {
			return dir + " is not validated, because it is a Helm chart, whose templates must be rendered before"
		}
	}
	return ""
}

// empty returns the warning about files and folders without a resource.
func empty(files manifest.Reader, resources []string) string {
	text := strings.Join(resources, ",") + " has no resource, so nothing was validated"
	if next := manifest.Misnamed(files.FS, resources...); next != "" {
		text += "\nhint: " + string(next)
	}
	return text
}

// definitionsIn returns the CRDs of files and folders, also of their XRDs and MRDs. It reads neither
// standard input nor pipes.
func definitionsIn(ctx context.Context, files manifest.Reader, paths []string) []inspect.CRD {
	// An error is reported when the paths are validated.
	found, _ := inspect.CollectCRDs(ctx, slices.DeleteFunc(slices.Clone(paths), files.IsStream), inspect.CRDOptions{Files: files, Follow: inspect.FollowNone, Offline: true, Faulty: func(error) {}})
	return found
}

func defines(found []inspect.CRD, kinds []schema.GroupKind) bool {
	return slices.ContainsFunc(found, func(d inspect.CRD) bool {
		return slices.Contains(kinds, schema.GroupKind{Group: d.Group, Kind: d.Kind})
	})
}

// kindsIn returns the kinds of the objects in files and folders. It reads neither standard input nor pipes.
func kindsIn(ctx context.Context, files manifest.Reader, paths []string) (all []schema.GroupKind) {
	for doc := range stream(ctx, files, slices.DeleteFunc(slices.Clone(paths), files.IsStream)) {
		if obj, err := doc.Object(); err == nil {
			all = append(all, (&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind())
		}
	}
	return all
}
