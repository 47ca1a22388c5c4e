// Package listen takes the addresses that users name for servers.
package listen
