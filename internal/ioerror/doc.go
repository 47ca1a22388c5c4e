// Package ioerror takes errors of the file system apart.
package ioerror
