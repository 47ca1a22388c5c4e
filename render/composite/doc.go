// Package composite holds what both output profiles share: the values that go
// into a render and come out of it, and the rules for composed resources,
// readiness and conditions that Crossplane has kept across versions.
package composite
