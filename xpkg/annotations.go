package xpkg

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
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
)

// ociKeys maps annotation keys of the package metadata to keys of OCI, both without
// their prefixes (OCI image spec, "Pre-Defined Annotation Keys"; xpkg specification,
// "Object Annotations").
var ociKeys = map[string]string{
	"source":      "source",
	"license":     "licenses",
	"description": "description",
	"maintainer":  "authors",
}

// annotations returns the annotations of an image, from the package metadata and opts. The
// readme of the metadata becomes an annotation only if it is a URL.
func annotations(pkg *Package, opts BuildOptions) (map[string]string, error) {
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
	all[ociPrefix+"created"] = opts.Created.UTC().Format(time.RFC3339)
	maps.Copy(all, opts.Annotations)
	for key, value := range all {
		if key == "" || !utf8.ValidString(key+value) {
			return nil, fmt.Errorf("setting annotation %q: the key must not be empty, and the key and the value must be valid UTF-8", key)
		}
	}
	return all, nil
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && !strings.ContainsAny(s, " \t\n")
}

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

// checkManifest returns an error for a manifest that is too large for
// registries (OCI distribution spec, "Pushing Manifests").
func checkManifest(a oci.Artifact) error {
	size, err := a.Size()
	if err != nil {
		return fmt.Errorf("finding the size of a manifest: %w", err)
	}
	if size > oci.MaxManifest {
		return hint.Wrap(fmt.Errorf("the manifest has %d bytes, but registries accept at most %d MiB", size, oci.MaxManifest>>20), "shorten the annotations")
	}
	return nil
}

// Annotate returns a with annotations added to each image, and to the index if a is
// one. An added annotation replaces an existing one with the same key. Attestations
// and other artifacts that are not images do not change.
func Annotate(a Artifact, annotations map[string]string) (Artifact, error) {
	if len(annotations) == 0 {
		return a, nil
	}
	return annotate(a, annotations, 0)
}

func annotate(a oci.Artifact, annotations map[string]string, depth int) (oci.Artifact, error) {
	if depth > oci.MaxDepth {
		return nil, fmt.Errorf("indexes are nested more than %d deep", oci.MaxDepth)
	}
	switch a := a.(type) {
	case v1.ImageIndex:
		return annotateIndex(a, annotations, depth)
	case v1.Image:
		m, err := a.Manifest()
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		if !oci.IsImage(m) {
			return a, nil
		}
		annotated, err := oci.Annotate(a, merge(m.Annotations, annotations))
		if err != nil {
			return nil, err
		}
		return annotated, checkManifest(annotated)
	default:
		return nil, errors.New("the artifact is neither an image nor an index")
	}
}

// merge returns the entries of both maps. The second map has priority.
func merge(old, with map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, old)
	maps.Copy(all, with)
	return all
}

// annotateIndex returns idx with annotations on it and its children. All other
// fields stay the same.
func annotateIndex(idx v1.ImageIndex, annotations map[string]string, depth int) (oci.Artifact, error) {
	m, manifestErr := idx.IndexManifest()
	raw, err := idx.RawManifest()
	if err := errors.Join(manifestErr, err); err != nil {
		return nil, fmt.Errorf("reading an index: %w", err)
	}
	var fields map[string]json.RawMessage
	var descs []map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &fields), json.Unmarshal(fields["manifests"], &descs)); err != nil || len(descs) != len(m.Manifests) {
		return nil, errors.New("reading an index: it has no list of manifests")
	}
	children := make([]oci.Artifact, len(descs))
	for i, desc := range m.Manifests {
		if children[i], err = oci.Child(idx, desc); err != nil {
			return nil, err
		}
		if oci.IsAttestation(desc) {
			continue
		}
		if children[i], err = annotate(children[i], annotations, depth+1); err != nil {
			return nil, err
		}
		if desc, err = oci.Describe(children[i]); err != nil {
			return nil, err
		}
		descs[i]["digest"] = json.RawMessage(strconv.Quote(desc.Digest.String()))
		descs[i]["size"] = json.RawMessage(strconv.FormatInt(desc.Size, 10))
	}
	// JSON and strings have no errors.
	fields["manifests"], _ = json.Marshal(descs)
	fields["annotations"], _ = json.Marshal(merge(m.Annotations, annotations))
	raw, _ = json.Marshal(fields)
	annotated, err := oci.Index(raw, children...)
	if err != nil {
		return nil, err
	}
	return annotated, checkManifest(annotated)
}
