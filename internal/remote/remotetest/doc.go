// Package remotetest gives tests the registries that they need: a real one from
// the environment, and servers of this process that ask for credentials, speak
// TLS or fail.
package remotetest
