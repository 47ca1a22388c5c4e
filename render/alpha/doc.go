// Package alpha renders Compositions as Crossplane did from v1.11 to v1.13, when
// functions were containers that read and wrote a FunctionIO: one reconcile over
// a store in memory.
package alpha
