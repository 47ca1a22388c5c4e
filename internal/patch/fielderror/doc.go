// Package fielderror is what is wrong with a field of an object, in the words of
// Kubernetes' API server.
package fielderror
