// Package dockerenginetest gives tests a real container engine and images for it, and checks
// that they leave no containers, networks or volumes in it. It is not part of package
// remotetest, because the client of the engine doubles the time to link a small test.
package dockerenginetest
