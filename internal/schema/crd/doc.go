// Package crd reads what defines a kind of object: a CustomResourceDefinition,
// Crossplane's CompositeResourceDefinition (XRD) and ManagedResourceDefinition
// (MRD). It says which changes of one would break those who use the kind, and
// makes the CRDs that Crossplane makes of an XRD.
package crd
