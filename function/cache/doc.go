// Package cache keeps the answers of functions in a folder, for as long as the
// functions themselves say that these stay good (the TTL in an answer's meta),
// as Crossplane's function response cache does.
package cache
