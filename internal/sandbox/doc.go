// Package sandbox runs one untrusted program in its own container, on Linux, without a
// daemon and without root. The program runs from a directory with its root file system,
// in new user, mount, process, network, IPC, UTS and cgroup namespaces. It has no
// capabilities, and is restricted by a seccomp filter, Landlock and resource limits.
//
// Three processes take part: the caller's process, which calls [Start]; the supervisor;
// and the function. The supervisor is process 1 of the new namespaces. It is the caller's
// own program, or a sealed copy of it in memory if the function could change the file. It
// prepares the sandbox, gives up every right before the function begins, starts and reaps
// the function, and forwards connections to it. Once the function runs, the caller treats
// the supervisor as hostile: it accepts nothing from the supervisor except the exit code.
//
// A program that calls Start must call [Supervise] first in main, or in an init function.
//
// A sandbox isolates the program as well as a shared kernel can, which is less than a
// virtual machine. This package does not depend on images, gRPC or Crossplane.
package sandbox
