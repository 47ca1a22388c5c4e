// Package push makes a package a tag in a registry.
package push
