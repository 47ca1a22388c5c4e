// Package golang builds runtime images of functions in Go.
package golang
