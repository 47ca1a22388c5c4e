package inspect

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/schema/crd"
	"github.com/xfn-dev/xfn/xpkg"
)

// The ways in which something may change.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// A Diff is what changes from one package to another. As JSON it is what `xfn xpkg
// diff --format json` prints: fields may be added to it, and keep their names
// and meaning.
type Diff struct {
	From Side `json:"from"`
	To   Side `json:"to"`
	// Breaking is whether anything in it is breaking, and Changed whether there is
	// anything in it.
	Breaking bool `json:"breaking"`
	Changed  bool `json:"changed"`
	// Metadata are the fields of the package's metadata that differ.
	Metadata []Field `json:"metadata,omitempty"`
	// Objects are those that differ.
	Objects []ObjectDiff `json:"objects,omitempty"`
	// Images are those that differ, by platform.
	Images []ImageDiff `json:"images,omitempty"`
}

// A Side is a package that is compared.
type Side struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// An ObjectDiff is an object that is not the same.
type ObjectDiff struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Change     string `json:"change"`
	// Breaking is whether one of Schema is, or the object itself is gone and
	// others depend on it: what it defines, or a Composition.
	Breaking bool `json:"breaking"`
	// Fields are those that differ. A schema counts as one field, whose changes
	// are in Schema.
	Fields []Field      `json:"fields,omitempty"`
	Schema []crd.Change `json:"schema,omitempty"`
}

// An ImageDiff is an image that is not the same.
type ImageDiff struct {
	Platform string `json:"platform,omitempty"`
	Change   string `json:"change"`
	// Breaking is whether the platform is gone.
	Breaking bool `json:"breaking"`
	// FromSize and ToSize are those of all that it consists of, in bytes.
	FromSize int64 `json:"fromSize"`
	ToSize   int64 `json:"toSize"`
	// Config are the differing fields of the config, the manifest's annotations
	// and the creation time.
	Config []Field     `json:"config,omitempty"`
	Layers []LayerDiff `json:"layers,omitempty"`
	// Same is how many layers are the same, and SameSize their size.
	Same     int   `json:"same"`
	SameSize int64 `json:"sameSize"`
}

// A LayerDiff is a layer that only one of two images has.
type LayerDiff struct {
	Layer
	Change string `json:"change"`
}

// Compare returns what changes from one package to another. Either may be a
// plain image.
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

// wrap is a map of texts as the value of a key.
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

// An identity tells objects of a package apart. A version of its API that has
// changed does not make it another object.
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

// byIdentity returns objects by what they are. Of two that are the same the last
// counts.
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

// forPlatform returns the image for a platform. Two images that are alone and of
// which one has no platform are for each other.
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

// config are the fields of an image besides its layers and their marks.
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

// A Field is a field that two objects do not have alike.
type Field struct {
	// Path is as in "spec.pipeline[run].input", where an element of a list is
	// named by what tells it from the others, or by its number.
	Path   string `json:"path"`
	Change string `json:"change"`
	// From and To are the values. Those of schemas are left out.
	From     any  `json:"from,omitempty"`
	To       any  `json:"to,omitempty"`
	Breaking bool `json:"breaking,omitempty"`
}

// maxFields bounds how many fields are told apart.
const maxFields = 1000

// schemaField holds a schema, which crd.Compare compares.
const schemaField = "openAPIV3Schema"

// Fields returns the fields in which two objects differ, in the order of their
// names. A field that only one of them has is one difference, whatever it holds.
// Beyond 1000 fields the rest of an object counts as one, too.
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

// nameOf returns what tells an element of a list from the others, or "".
// Dependencies are named by their packages.
func nameOf(element any) string {
	name := ""
	for _, key := range []string{"name", "step", "package", "provider", "function", "configuration"} {
		name = cmp.Or(name, text(element, key))
	}
	return name
}

func notNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
