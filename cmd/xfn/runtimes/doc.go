// Package runtimes is how functions run, as flags of whatever command renders.
package runtimes
