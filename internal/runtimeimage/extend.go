package runtimeimage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// port is the port of a function's gRPC server, to which Crossplane connects.
const port = "9443/tcp"

// settings are the changes that extend makes to the config of a base image.
type settings struct {
	entrypoint []string
	workdir    string // empty keeps the working directory of the base image
	env        []string
	labels     map[string]string
}

// extend adds a layer to a base image and applies s to its config. It keeps all other
// fields of the config, including unknown ones. If the user of the base image is root,
// extend replaces it by the user 65532.
func extend(base v1.Image, created time.Time, layer archive.Layer, s settings) (v1.Image, error) {
	p, err := oci.PartsOf(base)
	if err != nil {
		return nil, err
	}
	config, err := p.ConfigObject()
	if err != nil {
		return nil, fmt.Errorf("reading the base image: %w", err)
	}
	rootfs := child(config, "rootfs")
	diffIDs, _ := rootfs["diff_ids"].([]any)
	if len(diffIDs) != len(p.Layers) {
		return nil, fmt.Errorf("the base image's config lists %d layers, but its manifest lists %d", len(diffIDs), len(p.Layers))
	}
	rootfs["diff_ids"] = append(diffIDs, layer.Blob.DiffID.String())
	history, _ := config["history"].([]any)
	config["history"] = append(history, map[string]any{"created": timestamp(created)})
	config["created"] = timestamp(created)
	s.apply(child(config, "config"))
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the config of an image: %w", err)
	}
	descs := append(slices.Clone(p.Descriptors), descriptor(layer.Blob))
	return oci.Assemble(raw, descs, append(slices.Clone(p.Layers), layer.Layer)...)
}

// apply applies the settings to the "config" object of an image's config (OCI image spec,
// "Image Configuration").
func (s settings) apply(config map[string]any) {
	config["Entrypoint"] = s.entrypoint
	delete(config, "Cmd")
	if s.workdir != "" {
		config["WorkingDir"] = s.workdir
	}
	if user, _ := config["User"].(string); isRoot(user) {
		config["User"] = nonRoot
	}
	child(config, "ExposedPorts")[port] = map[string]any{}
	if len(s.env) > 0 {
		old, _ := config["Env"].([]any)
		config["Env"] = override(old, s.env)
	}
	for key, value := range s.labels {
		child(config, "Labels")[key] = value
	}
}

// child returns the object at key of m, and creates it if necessary.
func child(m map[string]any, key string) map[string]any {
	if o, ok := m[key].(map[string]any); ok && o != nil {
		return o
	}
	o := map[string]any{}
	m[key] = o
	return o
}

// isRoot reports whether the user of an image's config, with or without a group, is root.
// An empty user is root.
func isRoot(user string) bool {
	name, _, _ := strings.Cut(user, ":")
	return name == "" || name == "root" || strings.Trim(name, "0") == ""
}

// override returns the environment variables in old whose names are not in more, followed
// by more.
func override(old []any, more []string) []any {
	var env []any
	for _, v := range old {
		text, _ := v.(string)
		name, _, _ := strings.Cut(text, "=")
		if !slices.ContainsFunc(more, func(m string) bool { return m == name || strings.HasPrefix(m, name+"=") }) {
			env = append(env, v)
		}
	}
	for _, m := range more {
		env = append(env, m)
	}
	return env
}

// timestamp returns t as a time of an image's config. The zero time becomes the Unix epoch.
func timestamp(t time.Time) v1.Time {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return v1.Time{Time: t.UTC()}
}

func descriptor(b oci.Blob) v1.Descriptor {
	return v1.Descriptor{MediaType: b.MediaType, Size: b.Size, Digest: b.Digest}
}
