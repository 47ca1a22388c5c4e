// Package push makes a package a tag in a registry: one of this machine, or one
// of another registry, with what is attached to it there.
package push
