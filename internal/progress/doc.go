// Package progress reports the progress of long operations to their caller: a
// function that receives events.
package progress
