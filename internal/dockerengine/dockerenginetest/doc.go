// Package dockerenginetest gives tests a real container engine, and checks that they
// leave no containers, networks or volumes in it.
package dockerenginetest
