// Package dockerengine connects to Docker, podman or another container engine with
// Docker's API. It finds the engine, connects to it, and explains why a connection fails.
package dockerengine
