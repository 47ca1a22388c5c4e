// Package docs is the hidden command `xfn docs`, which writes the reference in
// Markdown and the manual pages. Both come from the model of the command line and
// from the tables that the program itself uses, so that they are never out of date.
package docs
