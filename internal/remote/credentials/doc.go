// Package credentials finds the credentials for a registry where Docker, podman and CI
// systems store them: in configuration files, in the credential helpers that these name,
// and in environment variables. The caller passes the environment.
package credentials
