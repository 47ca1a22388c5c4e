// Package ordered does work on many items at the same time, and hands on what
// comes of it in the order of the items.
package ordered
