// Package crds collects the CustomResourceDefinitions that packages deliver, and
// those that Crossplane makes of their XRDs, from files, package roots and
// registries, with the packages that those depend on.
package crds
