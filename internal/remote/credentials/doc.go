// Package credentials finds what to log in to a registry with, where Docker,
// podman and CI systems leave it: in configuration files, with the programs that
// these name (credential helpers), and in variables. Its caller hands in the
// environment.
package credentials
