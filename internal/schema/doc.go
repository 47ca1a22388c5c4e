// Package schema reads the schemas of CRDs and XRDs. It applies defaults, and
// finds the errors that the API server would find in objects and definitions.
package schema
