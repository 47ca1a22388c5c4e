package v1alpha1

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// MaxExpanded limits the approximate size in bytes of a FunctionIO with its
// aliases expanded.
const MaxExpanded = 64 << 20

// Decode returns the FunctionIO that a function wrote, in YAML or JSON. It drops unknown
// fields. It converts numbers and booleans to strings where a FunctionIO has strings. Empty
// output is an empty FunctionIO. Errors have the text of Crossplane's decoder.
func Decode(output []byte) (*FunctionIO, error) {
	if err := checkAliases(output); err != nil {
		return nil, err
	}
	io := &FunctionIO{}
	if err := kyaml.Unmarshal(output, io); err != nil {
		return nil, err
	}
	return io, nil
}

// Encode returns io as YAML.
func Encode(io *FunctionIO) ([]byte, error) { return kyaml.Marshal(io) }

var errExpanded = fmt.Errorf("the YAML aliases expand to more than %d MiB", MaxExpanded>>20)

// checkAliases returns an error if the document is larger than MaxExpanded after
// its YAML aliases are expanded.
func checkAliases(output []byte) error {
	if !bytes.ContainsRune(output, '&') {
		return nil // Without an anchor there are no aliases.
	}
	var root yaml.Node
	err := yaml.Unmarshal(output, &root)
	if err == nil && (measure{}).of(&root) > MaxExpanded {
		err = errExpanded
	}
	if err != nil {
		return fmt.Errorf("error converting YAML to JSON: %w", err)
	}
	return nil
}

// A measure caches the size that each YAML node has after its aliases are expanded.
type measure map[*yaml.Node]int

// of returns the size of n. If the size exceeds MaxExpanded, or if n contains
// itself, it returns MaxExpanded+1.
func (m measure) of(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	if size, ok := m[n]; ok {
		return size
	}
	const tooLarge = MaxExpanded + 1
	m[n] = tooLarge
	size := len(n.Value) + 1 + m.of(n.Alias)
	for _, child := range n.Content {
		size = min(size+m.of(child), tooLarge)
	}
	m[n] = min(size, tooLarge)
	return m[n]
}
