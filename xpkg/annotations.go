package xpkg

import (
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
)

const (
	ociPrefix  = "org.opencontainers.image."
	metaPrefix = "meta.crossplane.io/"

	// maxManifest is the most bytes that registries take for a manifest (OCI
	// distribution spec, "Pushing Manifests").
	maxManifest = 4 << 20
)

// ociKeys are OCI's names of what the package metadata says (OCI image spec,
// "Pre-Defined Annotation Keys"; xpkg specification, "Object Annotations"), both
// without their prefixes.
var ociKeys = map[string]string{
	"source":      "source",
	"license":     "licenses",
	"description": "description",
	"maintainer":  "authors",
}

// annotations returns those of a package's images.
func annotations(pkg *Package, opts BuildOptions) (map[string]string, error) {
	all := metaAnnotations(pkg)
	all[ociPrefix+"created"] = opts.Created.UTC().Format(time.RFC3339)
	maps.Copy(all, opts.Annotations)
	for key, value := range all {
		if key == "" || !utf8.ValidString(key+value) {
			return nil, fmt.Errorf("setting annotation %q: its key must not be empty, and both must be UTF-8", key)
		}
	}
	return all, nil
}

// metaAnnotations are what the metadata says. A readme is a text, where OCI has
// but a URL of documentation: only one that is a URL is taken, and others reach
// readers in package.yaml.
func metaAnnotations(pkg *Package) map[string]string {
	all := map[string]string{}
	set := func(key, value string) {
		if value = strings.TrimSpace(value); value != "" {
			all[ociPrefix+key] = value
		}
	}
	set("title", pkg.Meta.Name)
	for from, to := range ociKeys {
		set(to, pkg.Annotations[metaPrefix+from])
	}
	if readme := strings.TrimSpace(pkg.Annotations[metaPrefix+"readme"]); isURL(readme) {
		set("documentation", readme)
	}
	return all
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && !strings.ContainsAny(s, " \t\n")
}

// baseAnnotations returns the annotations of a runtime image that name the image
// which it is based on: the package is based on that, too.
func baseAnnotations(runtime v1.Image) (map[string]string, error) {
	m, err := runtime.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading its manifest: %w", err)
	}
	base := maps.Clone(m.Annotations)
	maps.DeleteFunc(base, func(key, _ string) bool { return !strings.HasPrefix(key, ociPrefix+"base.") })
	return base, nil
}

// sharedAnnotations returns the annotations that all images have.
func sharedAnnotations(images []PlatformImage) (map[string]string, error) {
	var shared map[string]string
	for i, img := range images {
		m, err := img.Image.Manifest()
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		if i == 0 {
			shared = maps.Clone(m.Annotations)
		}
		maps.DeleteFunc(shared, func(key, value string) bool {
			other, ok := m.Annotations[key]
			return !ok || other != value
		})
	}
	return shared, nil
}

// checkManifest refuses an image or index that no registry would take.
func checkManifest(a oci.Artifact) error {
	size, err := a.Size()
	if err != nil {
		return fmt.Errorf("finding the size of a manifest: %w", err)
	}
	if size > maxManifest {
		return hint.Wrap(fmt.Errorf("its manifest has %d bytes, and registries take %d MiB", size, maxManifest>>20), "shorten the annotations")
	}
	return nil
}

// annotationsOf returns the annotations of an object that was decoded.
func annotationsOf(data map[string]any) map[string]string {
	all := map[string]string{}
	for key, value := range object(object(data, "metadata"), "annotations") {
		if s, ok := value.(string); ok {
			all[key] = s
		}
	}
	return all
}
