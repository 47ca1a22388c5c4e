// Package npm reads package-lock.json files and .npmrc files of npm, selects the packages
// that a program needs on a platform, and fetches and unpacks them. It runs no scripts of
// packages.
package npm
