// Package hint attaches a next step to an error, for people: what to try, apart
// from what went wrong.
package hint
