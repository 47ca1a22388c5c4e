// Package session is the one flow by which everything renders: load the
// inputs, choose a runtime for each function that the pipeline uses, start
// them, render, and stop them when the session closes. Functions that one
// render started serve the next ones of the same session.
package session
