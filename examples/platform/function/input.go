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

// Input configures an environment and its workloads. Its schema is in
// package/input.yaml: change both together.
type Input struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Environment is a label of all composed resources.
	Environment string `json:"environment"`
	// Sizes are the sizes of an App, by name.
	Sizes map[string]Size `json:"sizes"`
	// MaxMemory limits the requested memory of all replicas of an App.
	MaxMemory *quantity.Quantity `json:"maxMemory,omitempty"`
	// AllowFrom are other namespaces whose Pods can reach every App.
	AllowFrom []string `json:"allowFrom,omitempty"`
}

// Size has the resource requests of a container.
type Size struct {
	CPU    quantity.Quantity `json:"cpu"`
	Memory quantity.Quantity `json:"memory"`
}

// size returns the Size with this name. It returns an error if the name is
// unknown, or if all replicas together request more memory than MaxMemory.
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
		return size, fmt.Errorf("%d replicas of size %s request %s of memory: %s allows an App %s", replicas, name, &total, in.Environment, in.MaxMemory)
	}
	return size, nil
}

// DeepCopyObject implements runtime.Object for the SDK. A shallow copy
// suffices, because inputs do not change.
func (in *Input) DeepCopyObject() runtime.Object {
	out := *in
	return &out
}
