// Package access finds the kinds of composed resources for which Crossplane needs a ClusterRole.
//
// Crossplane may compose all managed resources and composite resources, because its RBAC manager
// grants it access to them, and some kinds of Kubernetes that Crossplane itself needs. A user
// must grant it access to any other kind (Crossplane's documentation, "Compositions").
package access
