// Package pull brings packages from a registry.
package pull
