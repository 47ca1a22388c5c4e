package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Input says what an environment gives the workloads that run in it. Its schema is
// in package/input.yaml: change both together.
type Input struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Environment is a label of everything that is composed.
	Environment string `json:"environment"`
	// Sizes that an App can have, by name.
	Sizes map[string]Size `json:"sizes"`
	// MaxMemory is the most memory that all replicas of an App may ask for.
	MaxMemory *quantity.Quantity `json:"maxMemory,omitempty"`
	// AllowFrom are namespaces whose Pods reach every App, as an ingress controller's.
	AllowFrom []string `json:"allowFrom,omitempty"`
}

// Size is what each container asks for.
type Size struct {
	CPU    quantity.Quantity `json:"cpu"`
	Memory quantity.Quantity `json:"memory"`
}

// size returns what an App of a size gets, if its replicas fit the environment.
func (in *Input) size(name string, replicas int64) (Size, error) {
	if in.Environment == "" {
		return Size{}, errors.New("the input names no environment")
	}
	size, ok := in.Sizes[name]
	if !ok {
		known := slices.Sorted(maps.Keys(in.Sizes))
		return size, fmt.Errorf("spec.size is %q: %s has %s", name, in.Environment, strings.Join(known, ", "))
	}
	total := size.Memory.DeepCopy()
	total.Mul(replicas)
	if in.MaxMemory != nil && total.Cmp(*in.MaxMemory) > 0 {
		return size, fmt.Errorf("%d replicas of size %s want %s of memory: %s allows an App %s", replicas, name, &total, in.Environment, in.MaxMemory)
	}
	return size, nil
}

// DeepCopyObject makes Input a runtime.Object, as the SDK wants it. Nothing changes
// an input, so that a shallow copy will do.
func (in *Input) DeepCopyObject() runtime.Object {
	out := *in
	return &out
}
