// Package gotemplating is the builtin function-go-templating. It renders a Go
// template with the request, and reads desired resources from the output. Its
// rules are those of the real function; golden cases check them.
//
// Templates are untrusted. Their output, their recursion and the size of each
// call's result are limited. Package watchdog limits the memory of the process.
package gotemplating
