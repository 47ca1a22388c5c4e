// Package manifest reads YAML from files, folders and standard input, keeping
// the file and line of every document, and writes it in a stable order.
//
// The dialect is that of Kubernetes' tools (sigs.k8s.io/yaml): YAML 1.1, where
// bare yes, no, on and off are booleans, decoded by way of JSON.
package manifest
