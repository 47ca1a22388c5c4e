// Package hint attaches the next action to an error. It also finds the known
// name that is most similar to a misspelled one.
package hint
