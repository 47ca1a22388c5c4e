// Package flags has the groups of flags that several commands share: registries,
// runtimes, the cache, the lock file, and the addresses that servers listen on.
package flags
