// Package cache has the commands for what renders fetched: `xfn cache` and
// `xfn lock`.
package cache
