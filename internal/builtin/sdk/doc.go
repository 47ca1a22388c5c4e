// Package sdk is the function SDK of the builtins. It creates responses, adds
// results, decodes inputs, converts objects, evaluates CEL expressions, and caches compiled
// inputs.
package sdk
