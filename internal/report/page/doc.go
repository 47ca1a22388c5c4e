// Package page writes traces as one HTML page without external resources: the
// page sends no request and runs only its own script.
package page
