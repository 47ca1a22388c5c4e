// Package dev implements the development loop for functions and Compositions. The
// loop watches the files that a render and its tests read. When such a file
// changes, it repeats the render or the tests. Functions keep running; only those
// whose source has changed are restarted.
//
// The loop turns file changes into a Plan, runs the Plan as a Round, and shows
// the Round as a Text.
package dev
