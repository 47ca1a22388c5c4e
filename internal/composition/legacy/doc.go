// Package legacy converts legacy Compositions to pipelines. A legacy Composition has mode
// Resources, or calls alpha functions (containers that read a FunctionIO).
//
// The converted pipeline does what Crossplane v1.20, the last version with mode
// Resources, does with the legacy Composition. The defaults of the v1.20 schema
// are set, and fields that the v1.20 API server drops are removed.
package legacy
