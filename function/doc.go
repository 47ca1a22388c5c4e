// Package function defines how this module calls composition functions: a Runner
// answers RunFunction. Functions in this process, gRPC clients, caches, recorders
// and fakes are Runners, and one can wrap another.
package function
