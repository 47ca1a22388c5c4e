// Package templates lists the package templates that have a short name. Each is a
// git repository, or a set of files that is bundled with this module.
package templates
