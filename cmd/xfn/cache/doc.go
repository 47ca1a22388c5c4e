// Package cache has the commands that store images: `xfn cache` and `xfn lock` for fetched
// ones, and `xfn registry` for pushed ones.
package cache
