// Package crd reads the definitions of kinds: CustomResourceDefinitions, and
// Crossplane's CompositeResourceDefinitions (XRDs) and ManagedResourceDefinitions
// (MRDs). It finds breaking changes between two definitions, and generates the
// CRDs that Crossplane generates from an XRD.
package crd
