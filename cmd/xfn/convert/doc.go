// Package convert is the commands `xfn convert …`: what is out of date, as it is
// written today.
package convert
