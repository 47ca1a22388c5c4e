// Package proc has helpers for programs and concurrent work: process groups,
// their last output, lookups in an environment that the caller passes, sleeping with a context,
// and parallel work whose results keep the order of the inputs.
package proc
