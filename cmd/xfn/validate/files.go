package validate

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// split returns the elements of a list that is separated by commas.
func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// withoutStdin returns paths without standard input, which cannot be read twice.
func withoutStdin(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == manifest.Stdin })
}

// stream returns the documents of files and folders. It leaves out the files of other tools in folders,
// and warns of them.
func stream(ctx context.Context, r manifest.Reader, paths []string) iter.Seq2[manifest.Document, error] {
	return func(yield func(manifest.Document, error) bool) {
		for _, path := range paths {
			for doc, err := range r.Stream(ctx, path) {
				if what := foreign(r, path, doc.Path); what != "" {
					r.Warn(what)
					continue
				}
				if !yield(doc, err) {
					return
				}
			}
		}
	}
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

// definesSome reports whether a file or folder of resources has a CRD, an XRD or an MRD that defines
// an object in schemas. It does not read standard input.
func definesSome(ctx context.Context, files manifest.Reader, resources, schemas []string) bool {
	// An error is reported when the resources are validated.
	found, _ := inspect.CollectCRDs(ctx, withoutStdin(resources), inspect.CRDOptions{Files: files, Follow: inspect.FollowNone, Offline: true, Faulty: func(error) {}})
	if len(found) == 0 {
		return false
	}
	for doc := range stream(ctx, files, withoutStdin(schemas)) {
		obj, err := doc.Object()
		if err != nil {
			continue
		}
		gk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind()
		if slices.ContainsFunc(found, func(d inspect.CRD) bool { return d.Group == gk.Group && d.Kind == gk.Kind }) {
			return true
		}
	}
	return false
}
