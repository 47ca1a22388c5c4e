// Package report describes a render: what each step of a pipeline changed
// (Trace), which step set a field last (Blame), and how documents differ from
// expected ones (Compare). Each is a value with a stable JSON form and a text.
// Package page writes traces as an HTML page.
//
// A report never contains connection details or credentials, because they are
// secrets. It contains all other output of functions: a report of a pipeline
// that composes Secrets must be protected like the Secrets.
package report
