// Package verify checks a package where it is, in a registry: that a key has
// signed it, and that every digest that hangs on it stands for its bytes. Nothing
// is kept.
package verify
