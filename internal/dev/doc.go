// Package dev implements the development loop for functions and Compositions:
// it watches the files that a render and its tests read, and repeats the render
// or the tests when such a file changes. Functions keep running; only those
// whose source has changed are restarted.
//
// The loop turns file changes into a Plan, runs the Plan as a Round, and shows
// the Round as a Text.
package dev
