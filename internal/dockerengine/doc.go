// Package dockerengine is the one home for the connection to Docker, podman or
// another engine with Docker's API: where it is, how it is reached, and what is
// wrong if it is not.
package dockerengine
