// Package atomicfile writes a file so that it is either whole or not there:
// beside its target, synced, then renamed over it. Devices and pipes are
// written to. What a process that was killed has left beside a target is
// removed by the next one that writes there, or finished by one that asks for
// it.
package atomicfile
