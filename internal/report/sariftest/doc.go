// Package sariftest checks reports in SARIF 2.1.0 against the JSON schema of OASIS.
//
// testdata/sarif-schema-2.1.0.json is the schema of the OASIS Standard with Approved Errata 01,
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json,
// copyright OASIS Open, which may be part of implementations. The text is that of the Go module
// github.com/owenrumney/go-sarif/v3 v3.3.1.
package sariftest
