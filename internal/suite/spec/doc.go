// Package spec is the form of a suite's file: what it may say, how cases take
// over from defaults and become several by a table, and where each thing stands.
package spec
