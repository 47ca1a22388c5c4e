// Package sbom describes how packages were made: their software bills of materials (SPDX 2.3
// in JSON) and their provenance (SLSA 1.0 in an in-toto Statement).
package sbom
