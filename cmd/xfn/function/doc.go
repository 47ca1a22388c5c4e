// Package function has the commands that call and serve functions: `xfn function`,
// `xfn run`, and `xfn alpha` for the functions of Crossplane v1.11 to v1.13.
package function
