// Package languages lists the languages of functions, and detects the language of a folder.
package languages
