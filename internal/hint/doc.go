// Package hint attaches the next action to an error. It also finds the known name
// that is nearest to a misspelled one.
package hint
