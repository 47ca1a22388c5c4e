package suite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite"
)

// TestExamples runs the suite of examples/bucket. The suites of examples/platform need
// programs, so testdata/script/platform.txt runs them.
func TestExamples(t *testing.T) {
	o := options(afero.NewBasePathFs(afero.NewOsFs(), filepath.FromSlash("../../examples/bucket")))
	for _, out := range run(t, o, suite.Selection{}) {
		if out.Status != suite.Passed {
			t.Error(lines([]suite.Outcome{out}))
		}
	}
}

// TestJobExample checks the objects of the Kubernetes example: strict decoding
// succeeds, and there is one number of shards.
func TestJobExample(t *testing.T) {
	text := []byte(e2e.ReadFile(t, "../../examples/ci/kubernetes-job.yaml"))
	docs, err := manifest.Split("job", text)
	if err != nil || len(docs) != 3 {
		t.Fatalf("%v: %d documents", err, len(docs))
	}
	job := &batchv1.Job{}
	for i, into := range []any{job, &appsv1.Deployment{}, &corev1.Service{}} {
		e2e.WantError(t, fmt.Sprintf("document %d has only fields of its kind", i+1), yaml.UnmarshalStrict(docs[i].Text, into), "")
	}
	c := job.Spec.Template.Spec.Containers[0]
	if *job.Spec.CompletionMode != batchv1.IndexedCompletion || *job.Spec.Completions != 8 || c.Env[0].Name != "XFN_SHARDS" || c.Env[0].Value != "8" {
		t.Errorf("got %d completions, %v", *job.Spec.Completions, c.Env)
	}
}
