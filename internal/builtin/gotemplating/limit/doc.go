// Package limit holds the functions of templates to a budget: of the memory that
// an execution's values take, of its output and of its stack. Each function has
// a price, which is an upper bound of what a call will make, and is known before
// the call. Values are measured before a function walks them, so one that holds
// itself does not get to a function that would never come back.
//
// Without a budget, {{ repeat 1000000000 "x" }} takes the memory of the machine,
// and printing a map that was put into itself overflows the stack, from which no
// Go program can recover.
package limit
