// Package gotemplating is the builtin function-go-templating. It renders a Go
// template with the request as data, and reads desired resources from the output.
// It has the rules of the real function. Golden cases check them.
//
// Templates are untrusted. Their output, their recursion and the size of each
// call's result are limited. A proc.Watchdog limits the memory of the process.
package gotemplating
