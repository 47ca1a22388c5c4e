// Package diff is the command that shows what changed Compositions would do.
package diff
