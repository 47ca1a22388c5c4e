package autoready_test

import (
	"encoding/json"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

const (
	readyPod = `{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: "2026-01-02T03:04:05Z"},
spec: {restartPolicy: Always, containers: [{name: a, ports: [{containerPort: 80}], resources: {limits: {cpu: 100m, memory: 1}}}]},
status: {phase: Running, conditions: [{type: Ready, status: "False"}, {type: Ready, status: "True"}]}}`
	boundClaim = `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}`
	replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, availableReplicas: 2}}`
	jobDone    = `{apiVersion: batch/v1, kind: Job, spec: {completions: 1}, status: {succeeded: 1, startTime: "2026-01-02T03:04:05Z", conditions: [{type: Complete, status: "True"}]}}`
	cronJob    = `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "* * * * *"}, status: {lastScheduleTime: "2026-01-02T03:04:05Z", lastSuccessfulTime: "2026-01-02T04:04:05+01:00"}}`
	autoscaler = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Value, value: 1}}}]}, status: {conditions: [{type: ScalingLimited, status: "True"}]}}`
	deployment = `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {updatedReplicas: 2, availableReplicas: 2, conditions: [{type: Available, status: "True"}]}}`
	stateful   = `{apiVersion: apps/v1, kind: StatefulSet, status: {readyReplicas: 1, currentReplicas: 1, currentRevision: a, updateRevision: a}}`
	daemons    = `{apiVersion: apps/v1, kind: DaemonSet, status: {desiredNumberScheduled: 3, numberReady: 3, updatedNumberScheduled: 3, numberAvailable: 3}}`
	balancer   = `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}}`
)

// TestKinds changes objects that are ready in one place.
func TestKinds(t *testing.T) {
	cases := map[string]struct {
		reason, object, from, to string
		want                     bool
	}{
		"Pod":            {"the pod that others vary", readyPod, "", "", true},
		"PodWholeFloat":  {"a number with a zero fraction is whole", readyPod, "containerPort: 80", "containerPort: 80.0", true},
		"PodFraction":    {"a fraction does not fit a port", readyPod, "containerPort: 80", "containerPort: 80.5", false},
		"PodString":      {"nor does a string", readyPod, "containerPort: 80", `containerPort: "80"`, false},
		"PodQuantity":    {"a quantity has known suffixes", readyPod, "cpu: 100m", "cpu: 100 apples", false},
		"PodTime":        {"a time is RFC 3339", readyPod, `"2026-01-02T03:04:05Z"`, "yesterday", false},
		"PodNullTime":    {"a null is no time at all", readyPod, `"2026-01-02T03:04:05Z"`, "null", true},
		"PodUnknown":     {"a field that a pod lacks may be anything", readyPod, "name: a,", "name: a, colour: [1.5],", true},
		"PodCapitals":    {"fields are not found by other capitals", readyPod, "restartPolicy", "RestartPolicy", false},
		"PodList":        {"a list is none of a map", readyPod, "conditions: [", "containerStatuses: {}, conditions: [", false},
		"PodOnFailure":   {"a pod that may end is not ready while it runs", readyPod, "Always", "OnFailure", false},
		"PodFailed":      {"a pod that failed is not ready", readyPod, "Running", "Failed", false},
		"Claim":          {"a bound claim is ready", boundClaim, "", "", true},
		"ClaimQuantity":  {"a claim has to fit, too", boundClaim, "1Gi", "[]", false},
		"Replicas":       {"the replica set that others vary", replicaSet, "", "", true},
		"ReplicasMany":   {"more than wanted is enough", replicaSet, "availableReplicas: 2", "availableReplicas: 5", true},
		"ReplicasOld":    {"a status of an older generation says nothing", replicaSet, "generation: 2", "generation: 3", false},
		"ReplicasFrac":   {"a fraction does not fit a count", replicaSet, "availableReplicas: 2", "availableReplicas: 2.5", false},
		"ReplicasOne":    {"one is wanted unless it says", replicaSet, "replicas: 2", "minReadySeconds: 0", true},
		"ReplicasFail":   {"a failure outweighs the counts", replicaSet, "availableReplicas", `conditions: [{type: ReplicaFailure, status: "True"}], availableReplicas`, false},
		"ReplicasTemp":   {"the template has to fit", replicaSet, "replicas: 2}", "replicas: 2, template: {spec: {containers: 1}}}", false},
		"Job":            {"a job that is complete", jobDone, "", "", true},
		"JobSuspended":   {"a job that is suspended is not", jobDone, "Complete", "Suspended", false},
		"JobTime":        {"a job's times have to be some", jobDone, "2026-01-02T03:04:05Z", "2026-01-02", false},
		"JobPolicy":      {"the policies have to fit", jobDone, "completions: 1", "podFailurePolicy: {rules: [{onExitCodes: {values: [1.5]}}]}", false},
		"JobUncounted":   {"a null in a list is an empty element", jobDone, "succeeded: 1", "uncountedTerminatedPods: {failed: [null]}", true},
		"CronJob":        {"success at the time of the schedule, in another zone", cronJob, "", "", true},
		"CronJobEarly":   {"success before it is of an earlier run", cronJob, "T04:04:05+01", "T04:04:04+01", false},
		"CronJobActive":  {"a null among the active is one, too", cronJob, "lastSuccessfulTime", "active: [null], old", true},
		"CronJobIdle":    {"none active and none successful is not ready", cronJob, "lastSuccessfulTime", "active: [], old", false},
		"CronJobNull":    {"a schedule time of null is none", cronJob, `lastScheduleTime: "2026-01-02T03:04:05Z"`, "lastScheduleTime: null, active: [{}]", false},
		"CronJobSuspend": {"a cron job that rests is ready", cronJob, `schedule: "* * * * *"}, status: {`, "suspend: true}, status: {old: {}, ", true},
		"CronJobBad":     {"but it has to fit", cronJob, `schedule: "* * * * *"`, "suspend: true, schedule: 1", false},
		"HPA":            {"a limited autoscaler works", autoscaler, "", "", true},
		"HPAQuantity":    {"an object is no quantity", autoscaler, "value: 1", "value: {}", false},
		"HPAFraction":    {"a quantity may be a fraction", autoscaler, "value: 1", "value: 1.5", true},
		"HPACount":       {"a count may not", autoscaler, "maxReplicas: 3", "maxReplicas: 3.5", false},
		"HPADegraded":    {"an earlier degradation decides", autoscaler, "conditions: [", `conditions: [{type: FailedGetResourceMetric, status: "True"}, `, false},
		"Deployment":     {"the deployment that others vary", deployment, "", "", true},
		"DeployFraction": {"these counts lose their fractions", deployment, "availableReplicas: 2", "availableReplicas: 2.9", true},
		"DeployString":   {"a string as wanted count is none, so one is wanted", deployment, "spec: {replicas: 2}", `spec: {replicas: "2"}`, false},
		"DeployBadSpec":  {"where there is no spec, one is wanted", deployment, "spec: {replicas: 2}, status: {updatedReplicas: 2, availableReplicas: 2", "spec: [], status: {updatedReplicas: 1, availableReplicas: 1", true},
		"DeployUnfit":    {"the rest of a deployment is not looked at", deployment, "spec: {", "spec: {template: 5, ", true},
		"DeployBroken":   {"a condition that is none is passed over", deployment, "conditions: [", "conditions: [5, {type: Available}, ", true},
		"StatefulSet":    {"one replica is wanted unless it says", stateful, "", "", true},
		"StatefulEmpty":  {"revisions may be empty", stateful, "currentRevision: a, updateRevision: a", `currentRevision: "", updateRevision: ""`, true},
		"StatefulNone":   {"but have to be there", stateful, "currentRevision: a, updateRevision: a", "", false},
		"StatefulNumber": {"as strings", stateful, "currentRevision: a, updateRevision: a", "currentRevision: 1, updateRevision: 1", false},
		"DaemonSet":      {"all four are equal", daemons, "", "", true},
		"DaemonSetNone":  {"all four have to be there", daemons, "numberReady: 3, ", "", false},
		"DaemonSetNull":  {"a null is nothing", daemons, "desiredNumberScheduled: 3", "desiredNumberScheduled: null", false},
		"Balancer":       {"an address is there", balancer, "", "", true},
		"BalancerMap":    {"a map is no list of addresses", balancer, "[{ip: 10.0.0.1}]", "{ip: 10.0.0.1}", false},
		"ServiceType":    {"a type that is no string is the default one", balancer, "type: LoadBalancer}, status", "type: [LoadBalancer]}, old", true},
		"Core":           {"the core group may be written with a slash", "{apiVersion: /v1, kind: Secret}", "", "", true},
		"Slashes":        {"an apiVersion has one slash at most", "{apiVersion: a/b/v1, kind: Secret}", "", "", false},
		"NoVersion":      {"an apiVersion has to be a string", "{apiVersion: 1, kind: Secret}", "", "", false},
		"Other":          {"a kind of the table by its condition, where the check says no", deployment, "updatedReplicas: 2, availableReplicas: 2, conditions: [", `conditions: [{type: Ready, status: "True"}, `, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(tc.object, tc.from, tc.to)
			if tc.from == "" {
				text = tc.object
			} else if text == tc.object {
				t.Fatalf("%q is not in the object", tc.from)
			}
			if got := ready(t, object(t, text)); got != tc.want {
				t.Errorf("%s: got %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// FuzzKinds looks for objects of the kinds above that end the process, or that
// are judged by more than what they say.
func FuzzKinds(f *testing.F) {
	for _, text := range []string{readyPod, boundClaim, replicaSet, jobDone, cronJob, autoscaler, deployment, stateful, daemons, balancer} {
		f.Add(protojson.Format(object(f, text)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		obj := &structpb.Struct{}
		if protojson.Unmarshal([]byte(text), obj) != nil {
			t.Skip("not JSON")
		}
		first := ready(t, obj)
		obj.Fields["unknown"] = structpb.NewStringValue("to all kinds")
		if second := ready(t, obj); first != second {
			t.Errorf("got %t, then %t", first, second)
		}
	})
}

// conditions are what status.conditions may be, as JSON.
var conditions = []string{
	`[{"type":"Ready","status":"True"}]`,
	`[{"type":"Ready","status":"True","lastTransitionTime":null,"reason":null,"observedGeneration":null}]`,
	`[{"type":"Ready","status":"True","lastTransitionTime":""}]`,
	`[{"type":"Ready","status":"True","lastTransitionTime":5}]`,
	`[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T03:04:05.123456789+01:00"}]`,
	`[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02 03:04:05"}]`,
	`[{"type":"Ready","status":"True","observedGeneration":2.5}]`,
	`[{"type":"Ready","status":"True","observedGeneration":-0}]`,
	`[{"type":"Ready","status":"True","observedGeneration":9223372036854775807}]`,
	`[{"type":"Ready","status":"True","observedGeneration":9223372036854774784}]`,
	`[{"type":"Ready","status":"True","observedGeneration":-9223372036854775808}]`,
	`[{"type":"Ready","status":"True","observedGeneration":-9223372036854777856}]`,
	`[{"type":"Ready","status":"True","observedGeneration":"2"}]`,
	`[{"type":"Ready","status":"True","reason":5}]`,
	`[{"type":"Ready","status":"True","message":{}}]`,
	`[{"type":"Ready","status":true}]`,
	`[{"type":["Ready"],"status":"True"}]`,
	`[{"Type":"Ready","Status":"True"}]`,
	`[{"type":"Ready","status":"False"},{"type":"Ready","status":"True"}]`,
	`[{"type":"Ready","status":"True"},{"type":"Ready","status":"False"}]`,
	`[{"type":"Ready"},{"type":"Ready","status":"True"}]`,
	`[{"type":"Ready","status":"True"},{"type":5}]`,
	`[{"type":"Ready","status":"True","extra":{"a":[1.5]}},null,{}]`,
	`[{"type":"Ready","status":"True"},[]]`,
	`[{"type":"Ready","status":"True"},"Ready"]`,
	`{"type":"Ready","status":"True"}`,
	`"Ready"`, `null`, `[]`, `5`, `true`,
}

// TestReadyCondition and FuzzReadyCondition compare with how Crossplane itself
// reads the Ready condition.
func TestReadyCondition(t *testing.T) {
	yes := 0
	for _, c := range conditions {
		t.Run(c, func(t *testing.T) { compareCondition(t, c) })
		if crossplaneReady(t, c) {
			yes++
		}
	}
	if yes < 5 || len(conditions)-yes < 5 {
		t.Errorf("%d of %d are ready: the cases are one-sided", yes, len(conditions))
	}
}

func FuzzReadyCondition(f *testing.F) {
	for _, c := range conditions {
		f.Add(c)
	}
	f.Fuzz(compareCondition)
}

func compareCondition(t *testing.T, conditions string) {
	obj := &structpb.Struct{}
	if protojson.Unmarshal([]byte(`{"status":{"conditions":`+conditions+`}}`), obj) != nil {
		t.Skip("not JSON")
	}
	// What the function gets are the floats of protobuf, not the text.
	text, err := json.Marshal(obj.AsMap()["status"].(map[string]any)["conditions"])
	if err != nil {
		t.Skip(err)
	}
	if got, want := ready(t, obj), crossplaneReady(t, string(text)); got != want {
		t.Errorf("got %t, want %t", got, want)
	}
}

func crossplaneReady(t *testing.T, conditions string) bool {
	t.Helper()
	var floats any
	if err := json.Unmarshal([]byte(conditions), &floats); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"conditions": floats})
	if err != nil {
		t.Fatal(err)
	}
	status := &xpv2.ConditionedStatus{}
	return kjson.Unmarshal(text, status) == nil && status.GetCondition(xpv2.TypeReady).Status == "True"
}
