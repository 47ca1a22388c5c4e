// Package dockerenginetest gives tests a real engine, and checks that they
// leave nothing in it.
package dockerenginetest
