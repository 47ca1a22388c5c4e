// Package session implements the steps that all renders have in common: load the inputs,
// choose a runtime for each function, start the functions, render, and stop the functions
// when the session is closed. All renders of a session share its running functions.
package session
