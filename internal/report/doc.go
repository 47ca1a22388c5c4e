// Package report says what a render did: which step of a pipeline changed what
// (Trace), which one set a field last (Blame), and how documents differ from
// what was expected (Compare). Each is a plain value first, with a stable JSON
// form, and a text second. Sub-package page writes traces as a page of HTML.
//
// Connection details and credentials are secrets: their values are never part
// of a report. All else that functions say is, so a report of a pipeline that
// composes Secrets is as secret as its output.
package report
