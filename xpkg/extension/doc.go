// Package extension reads what a package carries for others than the control
// plane, such as its icon, its readme and its release notes: each folder of it
// becomes a layer that is marked with the folder's name.
package extension
