package sbom

import (
	"maps"
	"slices"

	"github.com/xfn-dev/xfn/internal/signature"
)

// testResult is the predicate about tests that passed (in-toto attestation,
// spec/predicates/test-result.md).
type testResult struct {
	Result        string     `json:"result"`
	Configuration []resource `json:"configuration"`
	PassedTests   []string   `json:"passedTests"`
}

// TestReport returns the Statement that the tests passed with the package. files are the SHA-256
// digests in hexadecimal of the files that define the tests, by their paths. The same arguments
// give the same bytes.
func TestReport(s Subject, passed []string, files map[string]string) ([]byte, error) {
	p := testResult{Result: "PASSED", PassedTests: passed}
	p.Configuration = []resource{{URI: builder, Name: "xfn", Annotations: map[string]string{"version": s.Tool}}}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		p.Configuration = append(p.Configuration, resource{Name: path, Digest: map[string]string{"sha256": files[path]}})
	}
	return s.statement("the test report", signature.TestResult, p)
}
