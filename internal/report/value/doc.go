// Package value is how values read to people: on one line, cut where they are
// long, with nothing in them that a terminal would obey.
package value
