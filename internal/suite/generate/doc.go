// Package generate makes composite resources that are valid by the schema of an XRD, including
// its CEL rules, and shrinks those for which something fails.
package generate
