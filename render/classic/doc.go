// Package classic is what `crossplane render` did around a pipeline before it
// called the reconciler (up to v2.2). The golden cases v2.2.* pin it.
package classic
