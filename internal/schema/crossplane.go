package schema

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// crossplaneFiles has a file for each Release. The file maps kinds, such as
// "Composition.apiextensions.crossplane.io", to the CRDs that Crossplane installs, without
// their descriptions. TestCrossplaneFiles writes the files.
//
//go:embed crossplane
var crossplaneFiles embed.FS

// A Release is a release of Crossplane whose CRDs are built in. The zero value is V2_3.
type Release string

// The releases whose CRDs are built in, one for each Crossplane that a render can imitate.
const (
	V2_3  Release = "v2.3.4"
	V2_2  Release = "v2.2.0"
	V1_20 Release = "v1.20.11"
	V1_14 Release = "v1.14.0"
)

// Releases returns all releases, the newest first.
func Releases() []Release { return []Release{V2_3, V2_2, V1_20, V1_14} }

// crossplane has the definitions of each release by kind. A file is read when its release
// is first used, and a CRD is decoded when its kind is first used.
var crossplane = map[Release]func() map[string]func() *Definition{
	V2_3:  sync.OnceValue(V2_3.read),
	V2_2:  sync.OnceValue(V2_2.read),
	V1_20: sync.OnceValue(V1_20.read),
	V1_14: sync.OnceValue(V1_14.read),
}

// Definition returns the definition of a kind of Crossplane, such as Composition, or nil if
// the release has no such kind. It is safe for concurrent use.
func (r Release) Definition(kind schema.GroupKind) *Definition {
	decode, ok := crossplane[cmp.Or(r, V2_3)]()[kind.String()]
	if !ok {
		return nil
	}
	return decode()
}

func (r Release) read() map[string]func() *Definition {
	crds, err := r.crds()
	if err != nil {
		// The file is embedded, and a test reads it.
		panic(fmt.Sprintf("reading the CRDs of Crossplane %s: %v", r, err))
	}
	all := make(map[string]func() *Definition, len(crds))
	for kind, crd := range crds {
		all[kind] = sync.OnceValue(func() *Definition {
			var obj map[string]any
			if err := utiljson.Unmarshal(crd, &obj); err != nil {
				panic(fmt.Sprintf("decoding the CRD of %s: %v", kind, err))
			}
			def, err := New(obj)
			if err != nil {
				panic(fmt.Sprintf("reading the CRD of %s: %v", kind, err))
			}
			return def
		})
	}
	return all
}

// crds returns the CRDs of the release in JSON, by kind.
func (r Release) crds() (map[string]json.RawMessage, error) {
	packed, err := crossplaneFiles.ReadFile("crossplane/" + string(r) + ".json.gz")
	if err != nil {
		return nil, err
	}
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(text)
	if err != nil {
		return nil, err
	}
	var crds map[string]json.RawMessage
	return crds, json.Unmarshal(data, &crds)
}
