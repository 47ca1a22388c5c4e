// Package scaffold creates the directory of a new package from a template. Init
// copies the files of a git repository, or of a template that is bundled with this
// module. RunScript runs the template's init.sh, which Init never does.
//
// The folder is named init, which Go does not allow as the name of a package.
package scaffold
