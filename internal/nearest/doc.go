// Package nearest finds the name that was probably meant by one that is wrong.
package nearest
