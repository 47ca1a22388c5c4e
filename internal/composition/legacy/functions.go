package legacy

import (
	"fmt"
	"strings"
)

// alphaFunction is a function of the alpha: a container that reads a FunctionIO
// from its standard input and writes one.
type alphaFunction struct {
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	Config    map[string]any `json:"config"`
	Container struct {
		Image            string `json:"image"`
		ImagePullPolicy  any    `json:"imagePullPolicy"`
		ImagePullSecrets any    `json:"imagePullSecrets"`
		Timeout          any    `json:"timeout"`
		Network          any    `json:"network"`
		Resources        any    `json:"resources"`
		Runner           any    `json:"runner"`
	} `json:"container"`
}

// functionSteps returns a step for each function of the alpha. What it says of
// its container has no place in a pipeline.
func (c *converter) functionSteps(all []alphaFunction) []any {
	var steps []any
	for i, f := range all {
		name := functionName(f.Name)
		steps = append(steps, c.step(f.Name, name, f.Config))
		at := fmt.Sprintf("spec.functions[%d].container", i)
		c.note(at+".image", "a pipeline calls servers of RunFunction, and %q reads a FunctionIO from its standard input: build the function anew, and install it as Function %q", f.Container.Image, name)
		for _, setting := range []struct {
			field  string
			value  any
			advice string
		}{
			{"imagePullPolicy", f.Container.ImagePullPolicy, "it is the Function's spec.packagePullPolicy now"},
			{"imagePullSecrets", f.Container.ImagePullSecrets, "they are the Function's spec.packagePullSecrets now"},
			{"timeout", f.Container.Timeout, "no function of a pipeline has one of its own"},
			{"network", f.Container.Network, "the function is a Pod with a network now, unless a NetworkPolicy keeps it from that"},
			{"resources", f.Container.Resources, "they belong to the Function's DeploymentRuntimeConfig now"},
			{"runner", f.Container.Runner, "there is none any more: the function is a Pod of its own"},
		} {
			if setting.value != nil {
				c.note(at+"."+setting.field, "%s", setting.advice)
			}
		}
	}
	return steps
}

// functionName makes the name of a Function of that of a function of the alpha,
// which may be any text.
func functionName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if name = strings.Trim(name, "-."); name == "" {
		return "function"
	}
	return name
}
