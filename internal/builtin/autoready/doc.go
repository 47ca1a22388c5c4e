// Package autoready is the builtin function-auto-ready. It has the readiness checks of the real
// function for Kubernetes kinds, and its CEL health checks, which are an alpha feature.
package autoready
