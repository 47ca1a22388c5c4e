// Package v1beta1 is the typed input of function-example: what a Composition
// has under spec.pipeline[].input.
package v1beta1

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Input configures how the platform runs Apps. Its schema is in package/input:
// change both together.
type Input struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Labels are added to all composed resources.
	Labels map[string]string `json:"labels,omitempty"`

	// Environments that an App can choose, by name. At least one.
	Environments map[string]Environment `json:"environments"`
}

// An Environment has the settings that its Apps share.
type Environment struct {
	// Replicas is the default number of replicas of an App. At least 1.
	Replicas int64 `json:"replicas"`

	// Settings are the environment variables of the App's container.
	Settings map[string]string `json:"settings,omitempty"`
}

// Validate returns all errors of the input, each with its field.
func (in *Input) Validate() error {
	var errs field.ErrorList
	environments, labels := field.NewPath("environments"), field.NewPath("labels")
	if len(in.Environments) == 0 {
		errs = append(errs, field.Required(environments, "an App runs in one of them"))
	}
	for name, env := range in.Environments {
		if env.Replicas < 1 {
			errs = append(errs, field.Invalid(environments.Key(name).Child("replicas"), env.Replicas, "must be 1 or more"))
		}
	}
	errs = append(errs, metav1validation.ValidateLabels(in.Labels, labels)...)

	// Maps have no order, but the same input must give the same error.
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs.ToAggregate()
}

// DeepCopyObject implements runtime.Object, which request.GetInput of the SDK
// requires. It does the same as the code that controller-gen generates.
func (in *Input) DeepCopyObject() runtime.Object {
	out := &Input{TypeMeta: in.TypeMeta, Labels: maps.Clone(in.Labels), Environments: maps.Clone(in.Environments)}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	for name, env := range out.Environments {
		env.Settings = maps.Clone(env.Settings)
		out.Environments[name] = env
	}
	return out
}
