package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// OutOfOrder is a step that has no effect, because no earlier step provides what it needs.
const OutOfOrder composition.ProblemKind = "OutOfOrder"

const (
	autoReady          = "function-auto-ready"
	environmentConfigs = "function-environment-configs"
	patchAndTransform  = "function-patch-and-transform"
)

// onlyOthers are the official functions that change only what earlier steps compose.
// composesNothing are the official functions that compose nothing, including onlyOthers.
// keepEnvironment are the official functions that do not change the environment. Any other
// function may compose resources and change the environment.
var (
	onlyOthers      = []string{autoReady, "function-cel-filter", "function-sequencer", "function-tag-manager"}
	composesNothing = append([]string{environmentConfigs, "function-extra-resources", "function-status-transformer"}, onlyOthers...)
	keepEnvironment = append([]string{patchAndTransform, "function-status-transformer"}, onlyOthers...)
)

// order reports the steps that run before the steps whose resources or environment they need.
// official returns the official function that a name in functionRef resolves to, or "".
// hasEnvironment is true if the pipeline begins with an environment. The inputs and patches are
// already checked.
func (c *checker) order(e composition.Entry, official func(name string) string, hasEnvironment bool) {
	var names, steps []string
	for _, step := range e.Spec.Pipeline {
		names, steps = append(names, official(step.FunctionRef.Name)), append(steps, step.Step)
	}
	first := slices.IndexFunc(names, func(name string) bool { return !slices.Contains(composesNothing, name) })
	for i, name := range names[:max(first, 0)] {
		if slices.Contains(onlyOthers, name) && !slices.Contains(names[i+1:], name) {
			c.add(OutOfOrder, e.DocumentField(fmt.Sprintf("spec.pipeline[%d]", i)), "step %q has no effect, because no step before it composes resources: move it after step %q", steps[i], steps[first])
		}
	}
	hasEnvironment = hasEnvironment || e.Converted || len(c.reads.environment) == 0
	if obj, err := e.Document.Object(); hasEnvironment || err != nil || fieldpath.Map(obj, "spec", "environment") != nil {
		return
	}
	fields := slices.Sorted(maps.Keys(c.reads.environment))
	for i, name := range names {
		at := e.DocumentField(fmt.Sprintf("spec.pipeline[%d].input", i))
		if !slices.Contains(keepEnvironment, name) || c.reads.written[at] {
			return // The other steps may have an environment.
		}
		n := slices.IndexFunc(fields, func(field string) bool { return strings.HasPrefix(field, at+".") })
		if n < 0 {
			continue
		}
		next := "add a step of " + environmentConfigs
		if j := slices.Index(names, environmentConfigs); j > i {
			next = fmt.Sprintf("move step %q", steps[j])
		}
		c.add(OutOfOrder, fields[n], "no step before step %q gives it an environment: %s before it", steps[i], next)
	}
}
