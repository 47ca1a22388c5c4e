// Package docker starts functions in containers of a Docker engine, or of an
// engine with Docker's API such as podman. It removes the containers that it
// creates. If a process is killed, the next run removes its containers.
package docker
