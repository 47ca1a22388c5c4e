// Package remote is the one home for registry access: which registry a
// reference means, as whom, over which transport, how often a request is tried,
// and what to tell the user when it fails. What is read or written there is
// the business of the packages push and pull.
package remote
