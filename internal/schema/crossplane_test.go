package schema_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/schema"
)

// apis is the Go module with the types of Crossplane's kinds.
const apis = "github.com/crossplane/crossplane/apis/v2"

// modules has the Go module of each release. controller-gen writes the CRDs in their
// folder cluster/crds from the Go types in the same release.
var modules = map[schema.Release]string{
	schema.V2_3:  "github.com/crossplane/crossplane/v2",
	schema.V2_2:  "github.com/crossplane/crossplane/v2",
	schema.V1_20: "github.com/crossplane/crossplane",
	schema.V1_14: "github.com/crossplane/crossplane",
}

// TestCrossplaneFiles checks that the files in the folder crossplane have all kinds with
// valid definitions and scopes that IsClusterScoped knows. With the flag -update, it first downloads the releases of Crossplane
// and writes the files.
func TestCrossplaneFiles(t *testing.T) {
	for _, release := range schema.Releases() {
		path := filepath.Join("crossplane", string(release)+".zip")
		if *update {
			e2e.NoError(t, os.WriteFile(path, pack(t, crossplaneCRDs(t, modules[release]+"@"+string(release))), 0o600))
			continue // The files that this test binary embeds are older.
		}
		archive := e2e.Must(zip.OpenReader(path))(t)
		defer archive.Close()
		if len(archive.File) < 15 {
			t.Errorf("%s has %d kinds", path, len(archive.File))
		}
		for _, f := range archive.File {
			name := f.Name
			def := release.Definition(kschema.ParseGroupKind(name))
			if def == nil {
				t.Fatalf("%s: %s is unknown; run the test with -update", path, name)
			}
			e2e.Equal(t, path+": the scope of "+name+" is known without its definition", !def.Namespaced, schema.IsClusterScoped(def.GroupKind))
			for _, f := range def.Check(t.Context()) {
				if f.Field == "spec.versions" {
					continue // The files do not say which version is stored.
				}
				t.Errorf("%s: %s: %s", path, name, f)
			}
		}
	}
}

// TestCrossplaneNewest checks that the newest release is the release of the Go types.
func TestCrossplaneNewest(t *testing.T) {
	out := e2e.Output(t, exec.CommandContext(e2e.Context(t), "go", "list", "-m", "-f", "{{.Version}}", apis))
	if got, newest := strings.TrimSpace(out), string(schema.Releases()[0]); got != newest {
		t.Errorf("go.mod has %s of %s, and the CRDs are of %s; change the release and run TestCrossplaneFiles with -update", got, apis, newest)
	}
}

// crossplaneCRDs returns the CRDs in a Go module of Crossplane, by kind.
func crossplaneCRDs(t *testing.T, module string) map[string]any {
	t.Helper()
	out := e2e.Output(t, exec.CommandContext(e2e.Context(t), "go", "mod", "download", "-json", module))
	var downloaded struct{ Dir string }
	e2e.NoError(t, json.Unmarshal([]byte(out), &downloaded))
	files := e2e.Glob(t, filepath.Join(downloaded.Dir, "cluster", "crds", "*.yaml"))
	all := map[string]any{}
	for _, file := range files {
		text := []byte(e2e.ReadFile(t, file))
		var crd crossplaneCRD
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range crd.Spec.Versions {
			withoutDescriptions(v.Schema)
		}
		all[crd.Spec.Names.Kind+"."+crd.Spec.Group] = crd
	}
	return all
}

// A crossplaneCRD has the parts of a CRD from which a Definition is decoded.
type crossplaneCRD struct {
	Kind string `json:"kind"`
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Scope    string `json:"scope"`
		Versions []struct {
			Name   string         `json:"name"`
			Served bool           `json:"served"`
			Schema map[string]any `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// withoutDescriptions removes the descriptions in a schema. A property that is called
// description is an object, and stays.
func withoutDescriptions(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["description"].(string); ok {
			delete(v, "description")
		}
		for _, value := range v {
			withoutDescriptions(value)
		}
	case []any:
		for _, value := range v {
			withoutDescriptions(value)
		}
	}
}

func pack(t *testing.T, crds map[string]any) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, name := range slices.Sorted(maps.Keys(crds)) {
		data := e2e.Must(json.Marshal(crds[name]))(t)
		f := e2e.Must(w.Create(name))(t)
		e2e.NoError(t, e2e.Err(f.Write(data)))
	}
	e2e.NoError(t, w.Close())
	return packed.Bytes()
}
