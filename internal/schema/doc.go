// Package schema knows what CRDs and XRDs say about objects. It applies the
// defaults of an XRD's schema, and finds what the API server would refuse of an
// object or of a definition.
package schema
