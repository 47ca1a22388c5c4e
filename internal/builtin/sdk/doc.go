// Package sdk is the function SDK of the builtins. It begins responses, adds
// results, decodes input, converts objects, and caches compiled input.
package sdk
