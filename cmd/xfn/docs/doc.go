// Package docs is the hidden command `xfn docs`, which writes the reference in
// Markdown or the manual pages, and the completion of shells. All are generated from
// the model of the command line and from tables that the program itself uses.
package docs
