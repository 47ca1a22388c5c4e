// Package converge renders again and again: what one pass renders, the next one
// observes, as if providers had created it in between, until nothing changes.
// It shows what a pipeline ends with that waits for its resources to be ready,
// or copies their status, and finds the one that never ends.
//
// What providers would report is told by fixtures. A file of them holds
// documents of this form (testdata/fixtures.yaml is an example):
//
//	apiVersion: xfn.dev/v1alpha1
//	kind: ObserveFixtures
//	fixtures:
//	- match:                # which composed resources: either of the two forms
//	    resource: bucket    # by the name in the pipeline
//	  ready: true           # has the condition Ready, "True" or "False"
//	  status:               # what status has besides
//	    arn: arn:aws:s3:::bucket
//	- match:
//	    apiVersion: s3.aws.m.upbound.io/v1beta1
//	    kind: BucketPolicy
//	    name: policy        # of all names, if left out
//	  from: 2               # holds after pass 2, so pass 3 is the first to see it; else 1
//	  ready: false
//	  metadata:             # what metadata has besides; what is rendered wins
//	    annotations:
//	      crossplane.io/external-name: policy-1
//
// Of several fixtures for one resource all hold, in order: objects merge, and
// anything else that a later one says takes the place of what was there before.
package converge
