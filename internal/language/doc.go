// Package language defines how the source of a function in some language becomes a runtime
// image. Package languages has the table of all languages.
package language
