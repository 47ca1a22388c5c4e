package sbom

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/signature"
)

const (
	// builder is the ID of the builder.
	builder = "https://github.com/xfn-dev/xfn"
)

// provenance is the predicate (slsa.dev/spec/v1.0/provenance).
type provenance struct {
	BuildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		ResolvedDependencies []resource     `json:"resolvedDependencies,omitempty"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// resource is a ResourceDescriptor (in-toto attestation, spec/v1/resource_descriptor.md).
type resource struct {
	URI         string            `json:"uri,omitempty"`
	Name        string            `json:"name"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// A Command is the command that built a package. It defines the meaning of the parameters.
type Command string

// The commands that build packages.
const (
	PackageBuild Command = "xpkg-build"
	ProjectBuild Command = "project-build"
)

// Provenance returns the Statement that the command built the package with these parameters from
// materials. It contains no times and no names of the machine: the same arguments give the
// same bytes.
func Provenance(s Subject, c Command, parameters map[string]any, materials []language.Material) ([]byte, error) {
	var p provenance
	p.BuildDefinition.BuildType, p.BuildDefinition.ExternalParameters = builder+"/"+string(c)+"/v1", parameters
	p.RunDetails.Builder.ID, p.RunDetails.Builder.Version = builder, map[string]string{"xfn": s.Tool}
	for _, m := range materials {
		r := resource{URI: m.PURL, Name: m.Name}
		if m.Version != "" {
			r.Name += "@" + m.Version
		}
		for _, c := range checksums(m.Digest) {
			r.Digest = map[string]string{strings.ToLower(c.Algorithm): c.Value}
		}
		if r.Digest == nil && m.Digest != "" {
			r.Annotations = map[string]string{"lockFileDigest": m.Digest}
		}
		p.BuildDefinition.ResolvedDependencies = append(p.BuildDefinition.ResolvedDependencies, r)
	}
	return s.statement("the provenance", signature.Provenance, p)
}

// statement returns the Statement that the package has the predicate p. what names p in an error.
func (s Subject) statement(what, predicateType string, p any) ([]byte, error) {
	predicate, err := json.Marshal(p)
	if err == nil {
		predicate, err = signature.Statement(s.Name, s.Digest, predicateType, predicate)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", what, err)
	}
	return append(predicate, '\n'), nil
}

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
