// Package converge renders repeatedly: each pass observes the output of the
// previous one, as if providers had created the resources, until nothing
// changes. It shows the final output of pipelines that wait for resources or
// copy their status, and finds pipelines that never settle.
//
// Fixtures are the changes that providers would make. A file of fixtures has
// documents in this format (testdata/fixtures.yaml is an example):
//
//	apiVersion: xfn.dev/v1alpha1
//	kind: ObserveFixtures
//	fixtures:
//	- match:                # composed resources, in one of two forms
//	    resource: bucket    # by the name in the pipeline
//	  ready: true           # sets the condition Ready to "True" or "False"
//	  status:               # is merged into status
//	    arn: arn:aws:s3:::bucket
//	- match:
//	    apiVersion: s3.aws.m.upbound.io/v1beta1
//	    kind: BucketPolicy
//	    name: policy        # optional
//	  from: 2               # applies after pass 2, so pass 3 observes it; default 1
//	  ready: false
//	  metadata:             # is merged into metadata; rendered values win
//	    annotations:
//	      crossplane.io/external-name: policy-1
//
// All fixtures of a resource apply, in order: objects are merged, and any other
// value of a later fixture replaces the earlier one.
package converge
