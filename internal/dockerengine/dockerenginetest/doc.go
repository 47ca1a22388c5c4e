// Package dockerenginetest lets tests use a real engine, and holds them to
// leaving nothing there.
package dockerenginetest
