// Package report describes a render: what each step of a pipeline changed
// (Trace), which step set a field last (Blame), and how documents differ from
// expected ones (Compare). Each is a value with a stable JSON form and a text.
//
// A report never contains connection details or credentials, but all other output of
// functions: a report of a pipeline that composes Secrets must be protected.
package report
