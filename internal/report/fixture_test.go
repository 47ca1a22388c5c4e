package report_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/xfn-dev/xfn/internal/report"
)

const s3 = "s3.aws.m.upbound.io/v1beta1"

// storage returns the trace of a typical Composition: three steps that create,
// annotate, remove, warn and require.
func storage() report.Trace {
	return report.Trace{XR: "platform.example.org/v1 XBucket team-a/logs", Steps: []report.Step{
		{
			Name: "fetch-environment", Function: "function-environment-configs", Runtime: "Docker", Calls: 2, Took: 182 * time.Millisecond,
			ContextChanges: []report.Change{
				{Path: "[apiextensions.crossplane.io/environment].account", Op: report.Added, New: "111122223333"},
				{Path: "[apiextensions.crossplane.io/environment].region", Op: report.Added, New: "eu-central-1"},
			},
			Requirements: []string{`resource "environment-config-0": apiextensions.crossplane.io/v1beta1 EnvironmentConfig named "production"`},
		},
		{
			Name: "compose", Function: "function-patch-and-transform", Runtime: "Builtin", Calls: 1, Took: 1400 * time.Microsecond,
			Changes: []report.ResourceChange{
				{Op: report.Added, APIVersion: "platform.example.org/v1", Kind: "XBucket", Fields: []report.Change{
					{Path: "status.region", Op: report.Added, New: "eu-central-1"},
				}},
				{Name: "bucket", APIVersion: s3, Kind: "Bucket", Op: report.Added, Fields: bucket()},
				{Name: "policy", APIVersion: s3, Kind: "BucketPolicy", Op: report.Added, Fields: []report.Change{
					{Path: "apiVersion", Op: report.Added, New: s3},
					{Path: "kind", Op: report.Added, New: "BucketPolicy"},
					{Path: "spec.forProvider.policy", Op: report.Added, New: "{\n  \"Version\": \"2012-10-17\",\n  \"Statement\": [\n    {\"Effect\": \"Deny\", \"Principal\": \"*\", \"Action\": \"s3:*\"}\n  ]\n}"},
				}, ConnectionDetails: []report.Change{{Path: "password", Op: report.Added, New: "24 bytes"}}},
			},
			Results: []report.Result{{Severity: "Warning", Message: "cannot patch status.arn: the bucket is not there yet", Reason: "PatchSkipped"}},
		},
		{
			Name: "harden", Function: "function-go-templating", Runtime: "Sandbox", Calls: 1, Took: 23 * time.Millisecond,
			Changes: []report.ResourceChange{
				{Name: "bucket", APIVersion: s3, Kind: "Bucket", Op: report.Changed, Fields: []report.Change{
					{Path: "metadata.labels[example.org/owner]", Op: report.Changed, Old: "nobody", New: "team-a"},
					{Path: "spec.forProvider.objectLockEnabled", Op: report.Changed, Old: false, New: true},
					{Path: "spec.forProvider.retention.days", Op: report.Changed, Old: 30.0, New: 365.0},
					{Path: "spec.forProvider.tags.temporary", Op: report.Removed, Old: "yes"},
				}, Ready: &report.Change{Path: "ready", Op: report.Added, New: "True"}},
				{Name: "policy", APIVersion: s3, Kind: "BucketPolicy", Op: report.Removed, Fields: []report.Change{
					{Path: "apiVersion", Op: report.Removed, Old: s3},
					{Path: "kind", Op: report.Removed, Old: "BucketPolicy"},
				}},
			},
			Results:    []report.Result{{Severity: "Normal", Message: "hardened 1 bucket"}},
			Conditions: []report.Condition{{Type: "Hardened", Status: "True", Reason: "AllRulesHold", Target: "CompositeAndClaim"}},
		},
		{Name: "finish", Function: "function-auto-ready", Runtime: "Builtin", Calls: 1, Took: 90 * time.Microsecond},
	}}
}

func bucket() []report.Change {
	fields := []report.Change{
		{Path: "apiVersion", Op: report.Added, New: s3},
		{Path: "kind", Op: report.Added, New: "Bucket"},
		{Path: "metadata.labels[example.org/owner]", Op: report.Added, New: "nobody"},
		{Path: "spec.forProvider.region", Op: report.Added, New: "eu-central-1"},
		{Path: "spec.forProvider.objectLockEnabled", Op: report.Added, New: false},
		{Path: "spec.forProvider.retention.days", Op: report.Added, New: 30.0},
		{Path: "spec.forProvider.tags.temporary", Op: report.Added, New: "yes"},
	}
	for i := range 4 {
		fields = append(fields, report.Change{
			Path: fmt.Sprintf("spec.forProvider.lifecycle[%d].prefix", i), Op: report.Added, New: strings.Repeat("archive/", 4*i+1),
		})
	}
	return fields
}

// broken returns the trace of a render that failed.
func broken() report.Trace {
	return report.Trace{
		XR:    "platform.example.org/v1 XBucket team-b/images",
		Error: `pipeline step "harden" returned a fatal result: no owner`,
		Steps: []report.Step{
			{
				Name: "compose", Function: "function-patch-and-transform", Runtime: "Builtin", Calls: 1, Took: time.Millisecond,
				Changes: []report.ResourceChange{{Name: "bucket", APIVersion: s3, Kind: "Bucket", Op: report.Added, Fields: bucket()}},
			},
			{
				Name: "harden", Function: "function-go-templating", Runtime: "Sandbox", Calls: 1, Took: 20 * time.Millisecond, Fatal: true,
				Results: []report.Result{{Severity: "Fatal", Message: "no owner:\n\tset spec.owner"}},
			},
		},
	}
}
