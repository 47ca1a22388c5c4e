// Package schema reads the schemas of CRDs and XRDs. It applies defaults, and
// returns the faults that the API server would find in an object or a
// definition.
package schema
