// Package completion is the command `xfn completion`, and the one that its
// scripts call back.
package completion
