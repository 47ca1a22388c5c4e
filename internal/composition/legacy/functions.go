package legacy

import (
	"fmt"
	"strings"
)

// alphaFunction is a function of the alpha: a container that reads a FunctionIO
// from standard input and writes one to standard output.
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

// functionSteps returns a step for each alpha function.
func (c *converter) functionSteps(all []alphaFunction) []any {
	var steps []any
	for i, f := range all {
		name := functionName(f.Name)
		steps = append(steps, c.step(f.Name, name, f.Config))
		at := fmt.Sprintf("spec.functions[%d].container", i)
		c.note(at+".image", "a pipeline calls servers of RunFunction, but %q reads a FunctionIO from its standard input: port the function, and install it as Function %q", f.Container.Image, name)
		for _, setting := range []struct {
			field  string
			value  any
			advice string
		}{
			{"imagePullPolicy", f.Container.ImagePullPolicy, "replaced by the Function's spec.packagePullPolicy"},
			{"imagePullSecrets", f.Container.ImagePullSecrets, "replaced by the Function's spec.packagePullSecrets"},
			{"timeout", f.Container.Timeout, "the functions of a pipeline have no timeouts of their own"},
			{"network", f.Container.Network, "the function runs in a Pod with a network, unless a NetworkPolicy restricts it"},
			{"resources", f.Container.Resources, "replaced by the Function's DeploymentRuntimeConfig"},
			{"runner", f.Container.Runner, "there is no runner: the function runs in its own Pod"},
		} {
			if setting.value != nil {
				c.note(at+"."+setting.field, "%s", setting.advice)
			}
		}
	}
	return steps
}

// functionName converts the name of an alpha function to that of a Function.
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
