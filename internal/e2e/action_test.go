package e2e_test

import (
	"regexp"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestAction checks that action.yml uses only inputs that it declares, and that its steps run the
// script that testdata/script/action.txt tests.
func TestAction(t *testing.T) {
	t.Parallel()
	data := []byte(e2e.ReadFile(t, "../../action.yml"))
	var action struct {
		Inputs map[string]any
		Runs   struct {
			Using string
			Steps []struct{ Name, Uses, Run, Shell string }
		}
	}
	e2e.NoError(t, yaml.Unmarshal(data, &action))
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`inputs\.(\w+)`).FindAllStringSubmatch(string(data), -1) {
		used[m[1]] = true
		if _, ok := action.Inputs[m[1]]; !ok {
			t.Errorf("the input %s is used and not declared", m[1])
		}
	}
	for name := range action.Inputs {
		if !used[name] {
			t.Errorf("the input %s is not used", name)
		}
	}
	var scripts []string
	for _, s := range action.Runs.Steps {
		if s.Run != "" && s.Shell == "" {
			t.Errorf("step %q has no shell, which a composite action requires", s.Name)
		}
		if m := regexp.MustCompile(`/\.ci/action" (\w+)$`).FindStringSubmatch(s.Run); m != nil {
			scripts = append(scripts, m[1])
		}
	}
	if action.Runs.Using != "composite" || len(scripts) != 2 || scripts[0] != "install" || scripts[1] != "test" {
		t.Errorf("the action is %+v", action.Runs)
	}
}
