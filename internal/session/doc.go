// Package session implements the flow that all renders share: load the inputs,
// choose a runtime for each function, start the functions, render, and stop
// them when the session is closed. Renders of one session share running
// functions.
package session
