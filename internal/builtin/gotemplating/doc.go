// Package gotemplating is the builtin function-go-templating: it renders a Go
// template over the request, and reads desired resources out of the text. Its
// rules are those of the real function, pinned by golden cases.
//
// A template is a stranger's program, and runs in this process. So it is given a
// budget, and its tree is rewritten to ask for it: see compile.go and the package
// limit.
package gotemplating
