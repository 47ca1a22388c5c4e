// Package cgroup limits the memory, processors and threads of processes by
// control groups, versions 1 and 2, where the caller may create one.
package cgroup
