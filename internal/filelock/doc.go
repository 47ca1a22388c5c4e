// Package filelock locks files against other processes. A lock belongs to an
// open file: it ends when that is closed or its process ends, however that ends.
package filelock
