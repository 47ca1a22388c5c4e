// Package models generates models of kinds from CRDs and XRDs: JSON Schemas for editors, and
// code in Go, KCL and Python for functions.
//
// Definitions is the intermediate model of all generators: OpenAPI schemas by name, as an API
// server publishes them for a CRD. Generate writes the models of a project, and leaves those
// out whose source has not changed since the last run.
package models
