// Package session implements the steps that all renders have in common: load the inputs,
// choose a runtime for each function, start the functions, render, and stop the functions
// when the session is closed. All renders of a session share its running functions.
//
// A render may have several passes: each observes the output of the previous one, as if
// providers had created the resources, until nothing changes. Several passes show the final
// output of pipelines that wait for resources or copy their status, and find pipelines that
// never settle. Fixtures are the changes that providers would make.
package session
