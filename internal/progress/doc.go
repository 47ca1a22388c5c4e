// Package progress is how long work tells its caller how far it is, without
// knowing whether anyone looks: one function that takes events.
package progress
