// Package check holds what a render made to what a case expects of it.
package check
