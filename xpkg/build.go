package xpkg

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

const (
	// Annotation is the key of the layer annotation that says what a layer contains.
	// The image config repeats its value in a label: Annotation, ":" and the layer's
	// digest are the key of the label.
	Annotation = archive.Mark
	// BaseMark is the value of Annotation for the layer with package.yaml.
	BaseMark = "base"
	// ExamplesMark is the value of Annotation for the layer with examples.
	ExamplesMark = "upbound"

	metadataFile = "package.yaml"
	examplesFile = ".up/examples.yaml"
)

// anyPlatform is the platform in the config of a package without a runtime.
var anyPlatform = map[string]any{"os": "linux", "architecture": "amd64"}

// BuildOptions are the options of Build.
type BuildOptions struct {
	// Created is the creation time of the package and its own layers, by
	// default the Unix epoch.
	Created time.Time
	// Annotations are set on each image and on the index. They replace annotations from
	// the package metadata.
	Annotations map[string]string
	// Extensions are layers that the control plane does not read.
	Extensions []ExtensionLayer
	// Docker builds images as the crossplane CLI does for projects: with the media types of
	// Docker, without annotations of the manifest and creation times, and without a platform
	// if there is no runtime. Created and Annotations do not apply.
	Docker bool
}

// Build returns the package pkg as an image for each runtime image, or as an index of
// several images for different platforms. Each image has the layers of the runtime,
// then the layers of extensions, the base layer, and the layer of examples. The base
// layer hides other files named package.yaml from tools that ignore annotations.
//
// Annotations have the creation time, the package metadata, and the base image of the
// runtime, under the keys of the OCI image spec. A package without a runtime is for
// linux/amd64, the platform that the control plane pulls.
//
// Build returns an error if pkg has no YAML. It does not check whether the runtimes suit
// the kind of package: NeedsRuntime and CheckRuntimes do.
func Build(pkg *Package, runtimes []v1.Image, opts BuildOptions) (Artifact, error) {
	if len(pkg.YAML) == 0 {
		return nil, errors.New("building the package: its YAML is empty")
	}
	if opts.Created.IsZero() {
		opts.Created = time.Unix(0, 0)
	}
	base, err := fileLayer(metadataFile, pkg.YAML)
	if err != nil {
		return nil, err
	}
	own := append(slices.Clone(opts.Extensions), ExtensionLayer{base, BaseMark})
	if pkg.Examples != nil {
		examples, err := fileLayer(examplesFile, pkg.Examples)
		if err != nil {
			return nil, err
		}
		own = append(own, ExtensionLayer{examples, ExamplesMark})
	}
	if opts.Annotations, err = annotations(pkg, opts); err != nil {
		return nil, err
	}
	if len(runtimes) == 0 && opts.Docker {
		return compose(parts{config: map[string]any{"os": "", "architecture": ""}}, own, opts)
	}
	if len(runtimes) == 0 {
		return compose(parts{config: anyPlatform}, own, opts)
	}
	images := make([]PlatformImage, 0, len(runtimes))
	for _, r := range runtimes {
		img, err := embed(r, own, opts)
		if err != nil {
			return nil, fmt.Errorf("embedding a runtime image: %w", err)
		}
		images = append(images, img)
	}
	if len(images) == 1 {
		return images[0].Image, nil
	}
	if slices.ContainsFunc(images, func(i PlatformImage) bool { return i.Platform == nil }) {
		return nil, errors.New("embedding several runtime images: one has no os and architecture")
	}
	if a, _, ok := samePlatform(images); ok {
		return nil, fmt.Errorf("embedding several runtime images: two are for %s", images[a].Platform)
	}
	return indexOf(images)
}

// embed adds a package to a runtime image. If the runtime has no os or architecture,
// embed sets the os and architecture of anyPlatform in the config, and the Platform of
// img is nil.
func embed(runtime v1.Image, own []ExtensionLayer, opts BuildOptions) (img PlatformImage, err error) {
	base, err := partsOf(runtime)
	if err != nil {
		return img, err
	}
	if err := checkOverlay(base.config, opts.Extensions); err != nil {
		return img, err
	}
	if img.Platform, err = platformOf(runtime); err != nil {
		return img, err
	}
	for key, value := range anyPlatform {
		if fieldpath.Text(base.config, key) == "" {
			base.config[key] = value
		}
	}
	img.Image, err = compose(base, own, opts)
	return img, err
}

func fileLayer(name string, data []byte) (v1.Layer, error) {
	l, err := oci.TarLayer(func(tw *tar.Writer) error {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		_, err := tw.Write(data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("making the layer of %s: %w", name, err)
	}
	return l, nil
}

type parts struct {
	oci.Parts
	config map[string]any
	// annotations are the annotations of the runtime's manifest about its base image.
	annotations map[string]string
}

// partsOf returns the parts of a runtime image. An image that is a package already is an
// error: the result would have two base layers, and the control plane would read the first.
func partsOf(runtime v1.Image) (p parts, err error) {
	if p.Parts, err = oci.PartsOf(runtime); err != nil {
		return p, err
	}
	if p.config, err = p.ConfigObject(); err != nil {
		return p, err
	}
	isPackage := marked(p.Parts, BaseMark) >= 0
	labels := fieldpath.Map(p.config, "config", "Labels")
	for _, d := range p.Descriptors {
		isPackage = isPackage || labels[Annotation+":"+d.Digest.String()] == BaseMark
	}
	if isPackage {
		return p, errors.New("the image is already a package, not a runtime image")
	}
	m, err := runtime.Manifest()
	if err != nil {
		return p, fmt.Errorf("reading the runtime image's manifest: %w", err)
	}
	p.annotations = maps.Clone(m.Annotations)
	maps.DeleteFunc(p.annotations, func(key, _ string) bool { return !strings.HasPrefix(key, ociPrefix+"base.") })
	return p, nil
}

// untimed sets the times of a config and its history that are missing or the Unix epoch, which
// stands for no time, to the zero time, as go-containerregistry does.
func untimed(config map[string]any, history []any) {
	none, epoch := time.Time{}.Format(time.RFC3339), time.Unix(0, 0).UTC().Format(time.RFC3339)
	for _, o := range append([]any{config}, history...) {
		if o, ok := o.(map[string]any); ok && (fieldpath.Text(o, "created") == "" || fieldpath.Text(o, "created") == epoch) {
			o["created"] = none
		}
	}
}

// reencoded returns a config as go-containerregistry encodes it. The crossplane CLI does so when it
// pushes a project, and so the digests in its Configuration are those of such configs.
func reencoded(raw []byte) ([]byte, error) {
	var config v1.ConfigFile
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, err
	}
	return json.Marshal(config)
}

// compose adds the layers own to base. It annotates each layer with its Name.
func compose(base parts, own []ExtensionLayer, opts BuildOptions) (v1.Image, error) {
	created := opts.Created.UTC().Format(time.RFC3339)
	config := maps.Clone(base.config)
	if opts.Docker {
		created = time.Time{}.Format(time.RFC3339)
	}
	copyOf := func(at map[string]any) map[string]any { return fieldpath.Merge(map[string]any{}, at) }
	settings, rootfs := copyOf(fieldpath.Map(config, "config")), copyOf(fieldpath.Map(config, "rootfs"))
	labels := copyOf(fieldpath.Map(settings, "Labels"))
	if rootfs["type"] == nil || !opts.Docker {
		rootfs["type"] = "layers"
	}
	diffIDs, history := slices.Clone(fieldpath.List(rootfs, "diff_ids")), slices.Clone(fieldpath.List(config, "history"))

	descs := slices.Clone(base.Descriptors)
	for i := range descs {
		switch descs[i].MediaType {
		case types.DockerLayer:
			descs[i].MediaType = types.OCILayer
		case types.DockerUncompressedLayer:
			descs[i].MediaType = types.OCIUncompressedLayer
		}
	}
	layers := slices.Clone(base.Layers)
	for _, l := range own {
		desc, err := oci.Describe(l)
		if err != nil {
			return nil, err
		}
		diffID, err := l.DiffID()
		if err != nil {
			return nil, fmt.Errorf("finding the digest of a layer's tar: %w", err)
		}
		labels[Annotation+":"+desc.Digest.String()] = l.Name
		desc.Annotations = map[string]string{Annotation: l.Name}
		diffIDs = append(diffIDs, diffID.String())
		history = append(history, map[string]any{"created": created})
		layers, descs = append(layers, l.Layer), append(descs, desc)
	}
	settings["Labels"], rootfs["diff_ids"] = labels, diffIDs
	if opts.Docker {
		untimed(config, history)
	} else {
		config["created"] = created
	}
	config["config"], config["rootfs"], config["history"] = settings, rootfs, history
	raw, err := json.Marshal(config)
	if err == nil && opts.Docker {
		raw, err = reencoded(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding a config: %w", err)
	}
	img, err := oci.Assemble(raw, descs, layers...)
	if err != nil {
		return nil, err
	}
	if opts.Docker {
		img, err = oci.Docker(img)
	} else {
		img, err = oci.Annotate(img, merge(base.annotations, opts.Annotations))
	}
	if err != nil {
		return nil, err
	}
	return img, checkManifest(img)
}
