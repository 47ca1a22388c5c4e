// Package python builds functions in Python from their source and a lock file, without pip
// and without running code: it fetches wheels, and installs them and the project into layers
// over a base image that has Python. Wheels (PEP 427) are untrusted.
package python
