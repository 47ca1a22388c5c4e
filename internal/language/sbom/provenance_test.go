package sbom_test

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/sbom"
)

func TestProvenance(t *testing.T) {
	hex := strings.Repeat("ab", 32)
	got := e2e.Must(sbom.Provenance(
		sbom.Subject{Name: "conf", Digest: v1.Hash{Algorithm: "sha256", Hex: hex}, Tool: "v1"}, sbom.PackageBuild, map[string]any{"language": "go"},
		[]language.Material{{Name: "a", Version: "1", PURL: "pkg:pypi/a@1", Digest: "sha256:" + hex}, {Name: "b", Version: "v2", PURL: "pkg:golang/b@v2", Digest: "h1:x="}},
	))(t)
	want := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"conf","digest":{"sha256":"` + hex + `"}}],` +
		`"predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{"buildType":"https://github.com/xfn-dev/xfn/xpkg-build/v1",` +
		`"externalParameters":{"language":"go"},"resolvedDependencies":[{"uri":"pkg:pypi/a@1","name":"a@1","digest":{"sha256":"` + hex + `"}},` +
		`{"uri":"pkg:golang/b@v2","name":"b@v2","annotations":{"lockFileDigest":"h1:x="}}]},` +
		`"runDetails":{"builder":{"id":"https://github.com/xfn-dev/xfn","version":{"xfn":"v1"}}}}}` + "\n"
	e2e.Equal(t, "the provenance has the subject, the parameters and the materials", want, string(got))
}

func TestTestReport(t *testing.T) {
	hex := strings.Repeat("ab", 32)
	got := e2e.Must(sbom.TestReport(
		sbom.Subject{Name: "function-a", Digest: v1.Hash{Algorithm: "sha256", Hex: hex}, Tool: "xfn-v1"},
		[]string{"a/b"}, map[string]string{"xr.yaml": "02", "suite.yaml": "01"},
	))(t)
	want := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"function-a","digest":{"sha256":"` + hex + `"}}],` +
		`"predicateType":"https://in-toto.io/attestation/test-result/v0.1","predicate":{"result":"PASSED","configuration":[` +
		`{"uri":"https://github.com/xfn-dev/xfn","name":"xfn","annotations":{"version":"xfn-v1"}},` +
		`{"name":"suite.yaml","digest":{"sha256":"01"}},{"name":"xr.yaml","digest":{"sha256":"02"}}],"passedTests":["a/b"]}}` + "\n"
	e2e.Equal(t, "the test report has the passed tests and the digests of their files", want, string(got))
}
