// Package cache is the command group `xfn cache`, and where the cache is.
package cache
