// Package recording keeps what functions were asked and what they answered, in
// a folder that people can review, and answers from it in their place.
package recording
