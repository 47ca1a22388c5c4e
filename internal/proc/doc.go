// Package proc has what running programs and concurrent work need: process
// groups, lookups in an environment that the caller passes, waiting that ends
// with a context, and parallel work whose results keep the order of their inputs.
package proc
