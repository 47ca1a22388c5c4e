// Package deps holds the floors of the house as a test: which folder may import
// which, and what only the command line may do. Rooms is the table, Check is the
// test's other half.
package deps
