// Package imagetest makes images and keys for tests.
package imagetest
