// Package imagetest creates images and keys for tests.
package imagetest
