// Package gotemplating builds runtime images of functions in go-templating.
package gotemplating
