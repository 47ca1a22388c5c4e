// Package function says what a composition function is to this program:
// something that answers RunFunction. A builtin, a gRPC client, a cache, a
// recorder and a fake are all Runners, and they stack.
package function
