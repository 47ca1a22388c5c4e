// Package validate has the commands `xfn validate` and `xfn convert`.
package validate
