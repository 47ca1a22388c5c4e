// Package credentials finds the credentials for a registry where Docker, podman and CI
// systems store them: in configuration files, in credential helpers that these files name,
// and in environment variables. The caller passes the environment.
package credentials
