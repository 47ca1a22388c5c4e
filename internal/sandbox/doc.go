// Package sandbox runs one program that nobody trusts in a container of its
// own, on Linux, without a daemon and without root: from a directory that holds
// its root file system, in new user, mount, process, network, IPC, UTS and
// cgroup namespaces, without capabilities, behind a seccomp filter, Landlock
// and limits.
//
// Three processes take part. The caller's process, which calls [Start]; the
// supervisor, which is process 1 of the new namespaces and the caller's own
// program again, run from a sealed copy in memory; and the function, which the
// supervisor starts, reaps, forwards signals to and carries connections to. The
// supervisor prepares everything and gives up every right before the function
// begins. From then on the caller takes it for hostile: it hears no more from
// it than how it ended.
//
// A program that calls Start calls [Supervise] first thing in main.
//
// What is promised is isolation as one kernel can give it, and no more. It knows
// no images, no gRPC and no Crossplane.
package sandbox
