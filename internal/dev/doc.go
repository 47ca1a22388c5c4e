// Package dev implements the development loop for functions and Compositions:
// it watches the files that a render and its tests read, and repeats what a
// change affects. Functions keep running between rounds, and only changed ones
// restart.
//
// The data flow is: changes of files become a Plan, which becomes a Round,
// which becomes a text.
package dev
