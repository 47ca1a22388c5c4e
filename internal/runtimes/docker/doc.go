// Package docker starts functions in containers of a Docker engine, or of one
// that has Docker's API, as podman. What it starts it removes: in the end, and
// in the next run of whatever was killed.
package docker
