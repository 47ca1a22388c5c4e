package runtimeimage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/xpkg"
)

// port is the port of a function's gRPC server, to which Crossplane connects.
const port = "9443/tcp"

// A Config lists the changes to the config of a base image. An empty field keeps what the
// base image has.
type Config struct {
	// Entrypoint is the program and its first arguments. It also removes the arguments of
	// the base image (Cmd).
	Entrypoint []string
	Workdir    string
	// User is the user that runs the program, and its group.
	User string
	// Env are environment variables, as "KEY=value". They are added to the variables of the
	// base image, or replace them.
	Env []string
	// Labels are added to the labels of the base image.
	Labels map[string]string
	Author string
	// Verbatim keeps a user that is root, and the list of ports. Otherwise the user 65532
	// replaces root, and the port of functions is added to the ports.
	Verbatim bool
	// NoPort keeps the list of ports, for a program that is not a function.
	NoPort bool
}

type addition struct {
	archive.Layer
	history v1.History
}

// extend adds layers to a base image and applies c to its config. It keeps all other fields
// of the config, including unknown ones.
func extend(base v1.Image, created time.Time, layers []addition, c Config) (v1.Image, error) {
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
	history, _ := config["history"].([]any)
	descs, all := slices.Clone(p.Descriptors), slices.Clone(p.Layers)
	labels, _ := child(config, "config")["Labels"].(map[string]any)
	ofPackage := func(d v1.Descriptor) bool { return ofPackage(d, labels) }
	if slices.ContainsFunc(descs, ofPackage) {
		ids := diffIDs
		descs, all, diffIDs, history = nil, nil, nil, nil
		for i, d := range p.Descriptors {
			if !ofPackage(d) {
				descs, all, diffIDs = append(descs, d), append(all, p.Layers[i]), append(diffIDs, ids[i])
				history = append(history, v1.History{Created: timestamp(created)})
			}
		}
		if len(descs) == 0 {
			return nil, hint.Wrap(errors.New("the base image is a package without a runtime image, so it has no files to add to"),
				"name an image that a container can run as the base image, or leave it out")
		}
	}
	for _, l := range layers {
		descs, all = append(descs, descriptor(l.Blob)), append(all, l.Layer.Layer)
		diffIDs = append(diffIDs, l.Blob.DiffID.String())
		l.history.Created = timestamp(created)
		history = append(history, l.history)
	}
	rootfs["diff_ids"], config["history"], config["created"] = diffIDs, history, timestamp(created)
	if c.Author != "" {
		config["author"] = c.Author
	}
	c.apply(child(config, "config"))
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the config of an image: %w", err)
	}
	return oci.Assemble(raw, descs, all...)
}

// ofPackage reports whether a layer has the metadata or the examples of a package. In packages
// that the crossplane CLI builds, only the labels of the config say so.
func ofPackage(d v1.Descriptor, labels map[string]any) bool {
	mark := d.Annotations[xpkg.Annotation]
	if mark == "" {
		mark, _ = labels[xpkg.Annotation+":"+d.Digest.String()].(string)
	}
	return mark == xpkg.BaseMark || mark == xpkg.ExamplesMark
}

// apply applies c to the "config" object of an image's config (OCI image spec, "Image
// Configuration").
func (c Config) apply(config map[string]any) {
	if len(c.Entrypoint) > 0 {
		config["Entrypoint"] = c.Entrypoint
		delete(config, "Cmd")
	}
	if c.Workdir != "" {
		config["WorkingDir"] = c.Workdir
	}
	if c.User != "" {
		config["User"] = c.User
	}
	if !c.Verbatim {
		if user, _ := config["User"].(string); isRoot(user) {
			config["User"] = nonRoot
		}
	}
	if !c.Verbatim && !c.NoPort {
		child(config, "ExposedPorts")[port] = map[string]any{}
	}
	if len(c.Env) > 0 {
		old, _ := config["Env"].([]any)
		config["Env"] = override(old, c.Env)
	}
	for key, value := range c.Labels {
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

// override returns the environment variables in old with the values that more has for them,
// followed by the other variables in more.
func override(old []any, more []string) []any {
	env := slices.Clone(old)
	for _, m := range more {
		name, _, _ := strings.Cut(m, "=")
		at := slices.IndexFunc(env, func(v any) bool {
			text, _ := v.(string)
			return text == name || strings.HasPrefix(text, name+"=")
		})
		if at < 0 {
			env = append(env, m)
		} else {
			env[at] = m
		}
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
