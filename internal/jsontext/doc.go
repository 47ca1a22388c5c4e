// Package jsontext is what becomes of text in JSON.
package jsontext
