// Package pipeline calls a Composition's steps one after another, handing each
// what the one before it desired.
package pipeline
