package manifest

import (
	"fmt"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
)

// mergeTag is the tag of a merge key, <<.
const mergeTag = "!!merge"

// duplicateKey returns the error of the YAML library's strict mode for the first key of a document that
// replaces a value in the same object. Unlike the library, it accepts a key that replaces a value of a merge
// key before it, which is what merge keys are for. merges is true if the document has a merge key.
func duplicateKey(text []byte) (duplicate error, merges bool) {
	for node := range nodesIn(parseNodes(text)) {
		if node.Kind != yamlv3.MappingNode {
			continue
		}
		own := map[any]bool{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			names := []any{keyOf(key)}
			isMerge := key.Tag == mergeTag
			if isMerge {
				merges, names = true, mergedKeys(value, maxPlain)
			}
			for _, name := range names {
				if own[name] && duplicate == nil {
					duplicate = fmt.Errorf("line %d: key %#v already set in map", value.Line, name)
				}
				own[name] = own[name] || !isMerge
			}
		}
	}
	return duplicate, merges
}

// mergedKeys returns the keys of the objects in the value of a merge key, and of those that these merge.
func mergedKeys(node *yamlv3.Node, depth int) (all []any) {
	switch {
	case depth == 0:
	case node.Kind == yamlv3.AliasNode:
		return mergedKeys(node.Alias, depth-1)
	case node.Kind == yamlv3.SequenceNode:
		for _, element := range node.Content {
			all = append(all, mergedKeys(element, depth-1)...)
		}
	case node.Kind == yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Tag == mergeTag {
				all = append(all, mergedKeys(node.Content[i+1], depth-1)...)
			} else {
				all = append(all, keyOf(node.Content[i]))
			}
		}
	}
	return all
}

// keyOf returns the value of a key, which has a scalar type of the library, or the node of another key.
func keyOf(node *yamlv3.Node) any {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	if node.Kind != yamlv3.ScalarNode {
		return node
	}
	var v any
	if node.Style == 0 && yamlv2.Unmarshal([]byte(node.Value), &v) == nil {
		switch v.(type) {
		case nil, bool, int, int64, uint64, float64:
			return v
		}
	}
	return node.Value
}
