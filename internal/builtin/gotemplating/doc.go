// Package gotemplating is the builtin function-go-templating: it renders a Go
// template over the request, and reads desired resources out of the text. Its
// rules are those of the real function, pinned by golden cases.
//
// A template comes from outside and runs in this process. Its output, its recursion
// and the size of what a single call makes are bounded, and it ends with the
// context. The memory of the process is the concern of package watchdog.
package gotemplating
