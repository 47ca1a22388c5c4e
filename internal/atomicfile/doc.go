// Package atomicfile writes a file so that it is either whole or not there:
// beside its target, synced, then renamed over it. Devices and pipes are
// written to.
package atomicfile
