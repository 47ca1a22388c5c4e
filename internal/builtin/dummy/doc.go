// Package dummy is the builtin function-dummy: it answers with what its input
// says. Its rules are those of function-dummy v0.4.1, pinned by golden cases.
package dummy
