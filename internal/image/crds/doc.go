// Package crds collects the CustomResourceDefinitions of packages and their
// dependencies, and those that Crossplane creates from their XRDs, from files,
// package roots and registries.
package crds
