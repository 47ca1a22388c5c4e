// Package kcl builds runtime images of functions in KCL.
package kcl
