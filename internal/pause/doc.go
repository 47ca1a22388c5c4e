// Package pause waits, and no longer than somebody wants the result.
package pause
