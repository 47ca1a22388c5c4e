package v1alpha1

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// MaxExpanded is how many bytes a FunctionIO may have, about, once its aliases
// are written out.
const MaxExpanded = 64 << 20

// Decode returns the FunctionIO that a function wrote, in YAML or JSON: fields
// that do not exist are dropped, missing ones zero, and numbers and booleans are
// taken where a string should be. No bytes at all are a FunctionIO. The error
// has the words of the real decoder.
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

var errExpanded = errors.New("its aliases stand for too much")

// checkAliases refuses documents of which a decoder, which writes aliases out,
// would make very many bytes.
func checkAliases(output []byte) error {
	if !bytes.ContainsRune(output, '&') {
		return nil // There is no anchor, and so no alias.
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

// A measure knows the sizes of nodes with aliases written out.
type measure map[*yaml.Node]int

// of returns the size of n, or just more than MaxExpanded if it is larger, as
// one is that contains itself.
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
