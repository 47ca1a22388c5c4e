// Package crds collects the CustomResourceDefinitions of packages and their dependencies,
// from files, package roots and registries. This includes the CRDs that Crossplane creates
// from XRDs.
package crds
