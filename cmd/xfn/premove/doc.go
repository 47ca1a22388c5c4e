// Package premove is.
package premove
