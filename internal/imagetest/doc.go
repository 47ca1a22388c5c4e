// Package imagetest makes images for tests.
package imagetest
