// Package project builds and pushes Crossplane projects: directories with a project file,
// APIs, Compositions, and embedded functions whose source is beside them. A project becomes
// one Configuration package, and one package for each embedded function.
//
// Read reads the project files of both dialects: crossplane-project.yaml of the crossplane
// CLI, and upbound.yaml of Upbound's up.
package project
