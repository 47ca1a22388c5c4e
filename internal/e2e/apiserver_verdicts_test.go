package e2e_test

import (
	"archive/zip"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// A verdict says whether an API server accepts an object. It is a document of a table.
type verdict struct {
	Case, Reason string
	// Refused is a part of the server's message, or empty if the server accepts the object.
	// Differs says why xfn has another verdict.
	Refused, Differs string
	Object           map[string]any
}

// ownWords has the cases that xfn refuses for the same reason as the server, but in its own
// words. In cel-cost-total, the server names four rules of equal cost in random order.
var ownWords = map[string]bool{"composition-resources": true, "cel-cost-total": true}

// ownPaths is the prefix of the names of cases in which the server reports fields of a version at
// the paths that they have in its own types.
const ownPaths = "crd-"

// sharedSchema is the path of the schema of a CRD with one version in the server's messages,
// because the server moves this schema there. ownSchema is its path in the CRD.
const (
	sharedSchema = "spec.validation.openAPIV3Schema"
	ownSchema    = "spec.versions[0].schema.openAPIV3Schema"
)

// compareVerdicts compares the results of xfn validate for the objects of a table, and the
// table, with what the server says when it creates the objects. xfn reads the definitions.
func compareVerdicts(t *testing.T, server *apiServer, definitions, table string) {
	cases := verdicts(t, table)
	objs := make([]map[string]any, len(cases))
	for i, tc := range cases {
		objs[i] = tc.Object
	}
	got := validateResults(t, definitions, objs...)
	for i, tc := range cases {
		t.Run(tc.Case, func(t *testing.T) {
			want := server.Create(t, tc.Object, writeOptions{DryRun: true})
			if want.OK() != (tc.Refused == "") || !strings.Contains(want.Message(), tc.Refused) {
				t.Errorf("%s: the table is wrong: the server answers %d: %s", tc.Reason, want.Code, want.Message())
			}
			switch same := acceptsObject(got[i]) == want.OK(); {
			case tc.Differs != "" && same:
				t.Errorf("%s: xfn says %s, as the server does, but the table says that it differs", tc.Reason, got[i].Status)
			case tc.Differs == "" && !(same && (ownWords[tc.Case] || strings.HasPrefix(tc.Case, ownPaths))):
				compareVerdict(t, got[i], want)
			}
		})
	}
}

// verdicts reads a table of verdicts.
func verdicts(t *testing.T, path string) []verdict {
	t.Helper()
	text := []byte(e2e.ReadFile(t, path))
	docs := e2e.Must(manifest.Split(path, text))(t)
	all := make([]verdict, len(docs))
	for i, doc := range docs {
		e2e.NoError(t, doc.Decode(&all[i]))
	}
	return all
}

// A validated is the result of xfn validate for an object.
type validated struct {
	Kind, Name, Status string
	Errors             []struct{ Message string }
}

// validateResults returns the results of xfn validate, in the order of the objects.
func validateResults(t *testing.T, definitions string, objs ...map[string]any) []validated {
	t.Helper()
	out, _ := runXFN(t, "validate", definitions, writeObjects(t, "objects.yaml", objs...), "--format", "json")
	var printed struct{ Resources []validated }
	unmarshalJSON(t, out, &printed)
	if len(printed.Resources) != len(objs) {
		t.Fatalf("xfn printed %d results for %d objects", len(printed.Resources), len(objs))
	}
	return printed.Resources
}

// compareVerdict compares a result of xfn with the server's response. xfn must report each
// fault that the server reports, in the same words, which advice may follow. It may report
// more, because the server does not validate an object with unknown fields.
func compareVerdict(t *testing.T, got validated, want apiResponse) {
	t.Helper()
	if acceptsObject(got) != want.OK() {
		t.Errorf("%s %s: xfn says %s, and the server answers %d\nxfn: %v\nserver: %s", got.Kind, got.Name, got.Status, want.Code, got.Errors, want.Message())
		return
	}
	for _, cause := range want.Causes() {
		cause = strings.ReplaceAll(cause, sharedSchema, ownSchema)
		if !slices.ContainsFunc(got.Errors, func(e struct{ Message string }) bool {
			return strings.Contains(cause, e.Message) || strings.HasPrefix(e.Message, cause+": ")
		}) {
			t.Errorf("%s %s: xfn does not report what the server reports\nxfn: %v\nserver: %s", got.Kind, got.Name, got.Errors, cause)
		}
	}
}

// acceptsObject reports whether xfn finds no error in an object.
func acceptsObject(v validated) bool { return v.Status == string(validate.Valid) }

// crossplaneCRDs returns the CRDs of Crossplane that are built into xfn, with the fields that
// an API server requires and xfn does not need.
func crossplaneCRDs(t *testing.T) []map[string]any {
	t.Helper()
	archive := e2e.Must(zip.OpenReader(filepath.Join("..", "schema", "crossplane", string(schema.V2_3)+".zip")))(t)
	defer archive.Close()
	var crds []map[string]any
	for _, f := range archive.File {
		r := e2e.Must(f.Open())(t)
		var crd extv1.CustomResourceDefinition
		e2e.NoError(t, json.NewDecoder(r).Decode(&crd))
		crd.APIVersion, crd.Spec.Names.Plural = "apiextensions.k8s.io/v1", strings.ToLower(crd.Spec.Names.Kind)+"s"
		crd.Name, crd.Spec.Versions[0].Storage = crd.Spec.Names.Plural+"."+crd.Spec.Group, true
		obj := e2e.Must(runtime.DefaultUnstructuredConverter.ToUnstructured(&crd))(t)
		delete(obj, "status")
		crds = append(crds, obj)
	}
	return crds
}
