// Package languages lists the languages of functions, and detects the language of a folder. It
// also builds functions in languages that an existing function interprets: go-templating and KCL.
package languages
