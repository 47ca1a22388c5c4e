// Package schema reads the schemas of CRDs and XRDs. It applies defaults, and
// returns the API server's errors in objects and definitions.
package schema
