// Package registries is the flags by which commands reach registries.
package registries
