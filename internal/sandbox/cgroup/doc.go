// Package cgroup limits the memory, CPU time and threads of processes with Linux control
// groups, version 1 or 2, if the caller may create one.
package cgroup
