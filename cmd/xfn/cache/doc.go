// Package cache has the commands for fetched images: `xfn cache` and `xfn lock`.
package cache
