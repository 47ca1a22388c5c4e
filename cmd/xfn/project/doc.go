// Package project has the commands of xfn project.
package project
