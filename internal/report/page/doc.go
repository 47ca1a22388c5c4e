// Package page writes traces as one page of HTML that needs nothing besides
// itself: no request leaves it, and no script runs in it but its own.
package page
