package inspect

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/xpkg"
)

// The values of Change in a Diff.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// A Diff is the difference of two packages. Its JSON is the output of `xfn xpkg
// diff --format json`: fields may be added, but not renamed.
type Diff struct {
	From Side `json:"from"`
	To   Side `json:"to"`
	// Breaking is true if any change is breaking. Changed is true if there is any change.
	Breaking bool `json:"breaking"`
	Changed  bool `json:"changed"`
	// Metadata are the changed fields of the package metadata.
	Metadata []Field `json:"metadata,omitempty"`
	// Objects are the changed objects.
	Objects []ObjectDiff `json:"objects,omitempty"`
	// Images are the changed images, matched by platform.
	Images []ImageDiff `json:"images,omitempty"`
}

// A Side is one of the two packages that Compare compares.
type Side struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// An ObjectDiff is a change of an object of the package.
type ObjectDiff struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Change     string `json:"change"`
	// Breaking is true if a change in Schema is breaking, or if the object was a definition or
	// Composition that was removed.
	Breaking bool `json:"breaking"`
	// Fields are the changed fields. All changes of a schema are one entry in Fields; Schema
	// lists them one by one.
	Fields []Field      `json:"fields,omitempty"`
	Schema []crd.Change `json:"schema,omitempty"`
}

// An ImageDiff is a change of the image for one platform.
type ImageDiff struct {
	Platform string `json:"platform,omitempty"`
	Change   string `json:"change"`
	// Breaking is true if the new package has no image for the platform.
	Breaking bool `json:"breaking"`
	// FromSize and ToSize are the sizes in bytes of the old and the new image: manifest, config
	// and layers.
	FromSize int64 `json:"fromSize"`
	ToSize   int64 `json:"toSize"`
	// Config are the changed fields of the image's config, and its changed annotations, media
	// type and creation time.
	Config []Field     `json:"config,omitempty"`
	Layers []LayerDiff `json:"layers,omitempty"`
	// Same is the number of layers that both images have. SameSize is their size in bytes.
	Same     int   `json:"same"`
	SameSize int64 `json:"sameSize"`
}

// A LayerDiff is a layer that only the old or only the new image has.
type LayerDiff struct {
	Layer
	Change string `json:"change"`
}

// Compare returns the difference of two packages or plain images.
func Compare(from, to Description) Diff {
	d := Diff{From: Side{Digest: from.Digest, Size: from.Size}, To: Side{Digest: to.Digest, Size: to.Size}}
	was, is := cmp.Or(from.Package, &Package{}), cmp.Or(to.Package, &Package{})
	d.Metadata = append(Fields(was.meta, is.meta), Fields(wrap("annotations", from.Annotations), wrap("annotations", to.Annotations))...)
	for i, f := range d.Metadata {
		d.Metadata[i].Breaking = f.Path == "kind"
		d.Breaking = d.Breaking || d.Metadata[i].Breaking
	}
	d.Objects = objects(was.Objects, is.Objects)
	d.Images = images(from.Images, to.Images)
	d.Breaking = d.Breaking ||
		slices.ContainsFunc(d.Objects, func(o ObjectDiff) bool { return o.Breaking }) ||
		slices.ContainsFunc(d.Images, func(i ImageDiff) bool { return i.Breaking })
	d.Changed = from.Digest != to.Digest || len(d.Metadata)+len(d.Objects)+len(d.Images) > 0
	return d
}

// wrap returns a map that has only the key, with m as its value, or nil if m is empty.
func wrap(key string, m map[string]string) map[string]any {
	if len(m) == 0 {
		return nil
	}
	all := make(map[string]any, len(m))
	for k, v := range m {
		all[k] = v
	}
	return map[string]any{key: all}
}

// An identity identifies an object of a package by group, kind and name, so that the same
// object is found in another version of the package.
type identity struct {
	schema.GroupKind
	name string
}

func identify(o Object) identity {
	return identity{schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind(), o.Name}
}

func objects(from, to []Object) []ObjectDiff {
	was, is := byIdentity(from), byIdentity(to)
	var all []ObjectDiff
	for _, o := range from {
		id := identify(o)
		next, there := is[id]
		switch {
		case !there:
			all = append(all, diffOf(o, Removed, o.Defines != nil || o.Kind == "Composition"))
		case !reflect.DeepEqual(o.data, next.data):
			all = append(all, changed(o, next))
		}
	}
	for _, o := range to {
		if _, there := was[identify(o)]; !there {
			all = append(all, diffOf(o, Added, false))
		}
	}
	return all
}

// byIdentity returns objects by their identity. If several objects have the same identity,
// it returns the last of them.
func byIdentity(objects []Object) map[identity]Object {
	all := make(map[identity]Object, len(objects))
	for _, o := range objects {
		all[identify(o)] = o
	}
	return all
}

func diffOf(o Object, change string, breaking bool) ObjectDiff {
	return ObjectDiff{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Change: change, Breaking: breaking}
}

func changed(from, to Object) ObjectDiff {
	d := diffOf(to, Changed, false)
	d.Fields = Fields(from.data, to.data)
	if from.Defines != nil && to.Defines != nil {
		d.Schema = crd.Compare(*from.Defines, *to.Defines)
	}
	d.Breaking = slices.ContainsFunc(d.Schema, func(c crd.Change) bool { return c.Breaking }) ||
		from.Defines != nil && to.Defines == nil
	return d
}

func images(from, to []Image) []ImageDiff {
	var all []ImageDiff
	for _, img := range from {
		next, there := forPlatform(to, img.Platform, len(from) == 1)
		switch {
		case !there:
			all = append(all, ImageDiff{Platform: img.Platform, Change: Removed, Breaking: true, FromSize: img.Size})
		case img.Digest != next.Digest:
			all = append(all, between(img, next))
		}
	}
	for _, img := range to {
		if _, there := forPlatform(from, img.Platform, len(to) == 1); !there {
			all = append(all, ImageDiff{Platform: img.Platform, Change: Added, ToSize: img.Size})
		}
	}
	return all
}

// forPlatform returns the image for a platform. alone is true if the other package has only
// one image. If both packages have only one image, the images match even if one has no
// platform.
func forPlatform(images []Image, platform string, alone bool) (Image, bool) {
	for _, img := range images {
		if img.Platform == platform || alone && len(images) == 1 && (img.Platform == "" || platform == "") {
			return img, true
		}
	}
	return Image{}, false
}

func between(from, to Image) ImageDiff {
	d := ImageDiff{Platform: to.Platform, Change: Changed, FromSize: from.Size, ToSize: to.Size, Config: Fields(config(from), config(to))}
	has := func(layers []Layer, l Layer) bool {
		return slices.ContainsFunc(layers, func(m Layer) bool { return m.Digest == l.Digest })
	}
	for _, l := range from.Layers {
		if has(to.Layers, l) {
			d.Same++
			d.SameSize += l.Size
			continue
		}
		d.Layers = append(d.Layers, LayerDiff{l, Removed})
	}
	for _, l := range to.Layers {
		if !has(from.Layers, l) {
			d.Layers = append(d.Layers, LayerDiff{l, Added})
		}
	}
	return d
}

// config returns the fields of an image that are compared, except its layers and the labels
// that mark layers.
func config(img Image) map[string]any {
	all := map[string]any{}
	for key, value := range map[string]string{"platform": img.Platform, "created": img.Created, "user": img.User, "mediaType": img.MediaType} {
		if value != "" {
			all[key] = value
		}
	}
	for key, list := range map[string][]string{"entrypoint": img.Entrypoint, "cmd": img.Cmd} {
		if len(list) > 0 {
			all[key] = list
		}
	}
	labels := maps.Clone(img.Labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { return strings.HasPrefix(key, xpkg.Annotation+":") })
	for key, m := range map[string]map[string]string{"labels": labels, "annotations": img.Annotations} {
		for _, value := range wrap(key, m) {
			all[key] = value
		}
	}
	return all
}

// A Field is a field that differs between two versions of an object.
type Field struct {
	// Path is the path of the field, such as "spec.pipeline[run].input". An element of a list
	// is written with its name, or else with its index.
	Path   string `json:"path"`
	Change string `json:"change"`
	// From and To are the old and the new value. Both are nil if the field is the schema of a
	// CRD.
	From     any  `json:"from,omitempty"`
	To       any  `json:"to,omitempty"`
	Breaking bool `json:"breaking,omitempty"`
}

// maxFields limits the differences that Fields returns one by one.
const maxFields = 1000

// schemaField is the key of the schema in a version of a CRD. Fields reports only that the
// schema differs; crd.Compare reports its changes.
const schemaField = "openAPIV3Schema"

// Fields returns the fields that differ between two objects, sorted by name. A field that
// only one of them has is one difference. After 1000 differences, each remaining value is
// compared as a whole.
func Fields(from, to map[string]any) []Field {
	differ := fieldpath.Differ{
		Whole: true, Raw: true, Limit: maxFields, Name: nameOf,
		Opaque: func(key string) bool { return key == schemaField },
	}
	var all []Field
	for _, c := range differ.Diff(notNil(from), notNil(to)) {
		f := Field{Path: c.Path, Change: string(c.Op), From: c.Old, To: c.New}
		if strings.HasSuffix("."+c.Path, "."+schemaField) {
			f.From, f.To = nil, nil
		}
		all = append(all, f)
	}
	return all
}

// nameOf returns the text that identifies a list element in a path, or "" if there is none.
// It is the element's field "name" or "step", or the package of a dependency.
func nameOf(element any) string {
	name := ""
	for _, key := range []string{"name", "step", "package", "provider", "function", "configuration"} {
		name = cmp.Or(name, fieldpath.Text(element, key))
	}
	return name
}

func notNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
