// Package environ reads an environment that its caller was handed: below the
// command line nobody looks at that of the process.
package environ
