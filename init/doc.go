// Package scaffold turns a template into the directory of a new package: it
// takes the template's files from a git repository, or from those that this
// program brings along, and runs its init.sh if asked to. (Its folder is
// called init, which Go does not take as the name of a package.)
package scaffold
