package v1beta1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// DeepCopyObject copies all fields and shares none.
func TestDeepCopyObject(t *testing.T) {
	in := func() *Input {
		return &Input{
			Labels:       map[string]string{"team": "retail"},
			Environments: map[string]Environment{"test": {Replicas: 1, Settings: map[string]string{"LOG_LEVEL": "debug"}}},
		}
	}
	original := in()
	c, ok := original.DeepCopyObject().(*Input)
	if !ok {
		t.Fatal("the copy is not an *Input")
	}
	if diff := cmp.Diff(original, c); diff != "" {
		t.Errorf("the copy differs: -original, +copy:\n%s", diff)
	}

	c.Labels["team"] = "changed"
	c.Environments["test"].Settings["LOG_LEVEL"] = "changed"
	c.Environments["new"] = Environment{}
	if diff := cmp.Diff(in(), original); diff != "" {
		t.Errorf("changing the copy changed the original: -want, +got:\n%s", diff)
	}
}
