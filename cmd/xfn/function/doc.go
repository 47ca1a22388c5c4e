// Package function has the commands that call and serve functions: `xfn function`
// and `xfn run`.
package function
