// Package sdk is the function SDK of the builtins. It creates responses, adds
// results, decodes inputs, converts objects, and caches compiled inputs.
package sdk
