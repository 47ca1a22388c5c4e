// Package sandbox runs one untrusted program in its own container, on Linux, without a
// daemon and without root. The program runs from a directory with its root file system,
// in new user, mount, process, network, IPC, UTS and cgroup namespaces, without
// capabilities, restricted by a seccomp filter, Landlock and limits.
//
// Three processes take part: the caller's process, which calls [Start]; the supervisor;
// and the function. The supervisor is process 1 of the new namespaces. It is the
// caller's own program, run from a sealed copy in memory. It prepares the sandbox,
// gives up every right before the function begins, starts and reaps the function, and
// forwards connections to it. From then on the caller treats the supervisor as hostile:
// it accepts no message from it except how the function ended.
//
// A program that calls Start must call [Supervise] first in main.
//
// The sandbox promises the isolation that one kernel can give, and no more. It is
// independent of images, gRPC and Crossplane.
package sandbox
