package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/e2e"
)

const (
	readyPod = `{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: "2026-01-02T03:04:05Z"},
spec: {restartPolicy: Always, containers: [{name: a, ports: [{containerPort: 80}], resources: {limits: {cpu: 100m, memory: 1}}}]},
status: {phase: Running, conditions: [{type: Ready, status: "False"}, {type: Ready, status: "True"}]}}`
	boundClaim        = `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}`
	replicaSetReady   = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, availableReplicas: 2}}`
	jobDone           = `{apiVersion: batch/v1, kind: Job, spec: {completions: 1}, status: {succeeded: 1, startTime: "2026-01-02T03:04:05Z", conditions: [{type: Complete, status: "True"}]}}`
	cronJobReady      = `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "* * * * *"}, status: {lastScheduleTime: "2026-01-02T03:04:05Z", lastSuccessfulTime: "2026-01-02T04:04:05+01:00"}}`
	autoscalerReady   = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Value, value: 1}}}]}, status: {conditions: [{type: ScalingLimited, status: "True"}]}}`
	deploymentReady   = `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {updatedReplicas: 2, availableReplicas: 2, conditions: [{type: Available, status: "True"}]}}`
	autoReadyStateful = `{apiVersion: apps/v1, kind: StatefulSet, status: {readyReplicas: 1, currentReplicas: 1, currentRevision: a, updateRevision: a}}`
	daemons           = `{apiVersion: apps/v1, kind: DaemonSet, status: {desiredNumberScheduled: 3, numberReady: 3, updatedNumberScheduled: 3, numberAvailable: 3}}`
	balancer          = `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}}`
)

// TestAutoReadyKinds changes one part of an object that is ready, for each kind with a check.
func TestAutoReadyKinds(t *testing.T) {
	cases := map[string]struct {
		reason, object, from, to string
		want                     bool
	}{
		"Pod":            {"a running pod is ready", readyPod, "", "", true},
		"PodWholeFloat":  {"a number with a zero fraction is an integer", readyPod, "containerPort: 80", "containerPort: 80.0", true},
		"PodFraction":    {"a port must be an integer", readyPod, "containerPort: 80", "containerPort: 80.5", false},
		"PodString":      {"a port must not be a string", readyPod, "containerPort: 80", `containerPort: "80"`, false},
		"PodQuantity":    {"a quantity must have a known suffix", readyPod, "cpu: 100m", "cpu: 100 apples", false},
		"PodTime":        {"a time must be in RFC 3339 format", readyPod, `"2026-01-02T03:04:05Z"`, "yesterday", false},
		"PodNullTime":    {"a time may be null", readyPod, `"2026-01-02T03:04:05Z"`, "null", true},
		"PodUnknown":     {"an unknown field may have any type", readyPod, "name: a,", "name: a, colour: [1.5],", true},
		"PodCapitals":    {"field names are case-sensitive", readyPod, "restartPolicy", "RestartPolicy", false},
		"PodList":        {"a map must not be a list", readyPod, "conditions: [", "containerStatuses: {}, conditions: [", false},
		"PodOnFailure":   {"a running pod without restarts is not ready", readyPod, "Always", "OnFailure", false},
		"PodFailed":      {"a failed pod is not ready", readyPod, "Running", "Failed", false},
		"Claim":          {"a bound claim is ready", boundClaim, "", "", true},
		"ClaimQuantity":  {"a claim must be valid", boundClaim, "1Gi", "[]", false},
		"Replicas":       {"a replica set with its replicas is ready", replicaSetReady, "", "", true},
		"ReplicasMany":   {"more replicas than desired are ready", replicaSetReady, "availableReplicas: 2", "availableReplicas: 5", true},
		"ReplicasOld":    {"a status of an older generation is ignored", replicaSetReady, "generation: 2", "generation: 3", false},
		"ReplicasFrac":   {"a count must be an integer", replicaSetReady, "availableReplicas: 2", "availableReplicas: 2.5", false},
		"ReplicasLarge":  {"a count above 2^31 is negative in the real function", replicaSetReady, "spec: {replicas: 2}", "spec: {replicas: 2147483648}", true},
		"ReplicasOne":    {"one replica is desired by default", replicaSetReady, "replicas: 2", "minReadySeconds: 0", true},
		"ReplicasFail":   {"a failure takes precedence over the counts", replicaSetReady, "availableReplicas", `conditions: [{type: ReplicaFailure, status: "True"}], availableReplicas`, false},
		"ReplicasTemp":   {"the template must be valid", replicaSetReady, "replicas: 2}", "replicas: 2, template: {spec: {containers: 1}}}", false},
		"Job":            {"a complete job is ready", jobDone, "", "", true},
		"JobSuspended":   {"a suspended job is not ready", jobDone, "Complete", "Suspended", false},
		"JobTime":        {"the times of a job must be valid", jobDone, "2026-01-02T03:04:05Z", "2026-01-02", false},
		"JobPolicy":      {"the policies of a job must be valid", jobDone, "completions: 1", "podFailurePolicy: {rules: [{onExitCodes: {values: [1.5]}}]}", false},
		"JobUncounted":   {"a null in a list is an empty element", jobDone, "succeeded: 1", "uncountedTerminatedPods: {failed: [null]}", true},
		"CronJob":        {"success at the scheduled time, in another zone, is ready", cronJobReady, "", "", true},
		"CronJobEarly":   {"success before the scheduled time belongs to an earlier run", cronJobReady, "T04:04:05+01", "T04:04:04+01", false},
		"CronJobActive":  {"a null in the active list counts as active", cronJobReady, "lastSuccessfulTime", "active: [null], old", true},
		"CronJobIdle":    {"without active and successful jobs it is not ready", cronJobReady, "lastSuccessfulTime", "active: [], old", false},
		"CronJobNull":    {"a null schedule time counts as missing", cronJobReady, `lastScheduleTime: "2026-01-02T03:04:05Z"`, "lastScheduleTime: null, active: [{}]", false},
		"CronJobSuspend": {"a suspended cron job is ready", cronJobReady, `schedule: "* * * * *"}, status: {`, "suspend: true}, status: {old: {}, ", true},
		"CronJobBad":     {"a cron job must be valid", cronJobReady, `schedule: "* * * * *"`, "suspend: true, schedule: 1", false},
		"HPA":            {"a limited autoscaler is ready", autoscalerReady, "", "", true},
		"HPAQuantity":    {"a quantity must not be an object", autoscalerReady, "value: 1", "value: {}", false},
		"HPAFraction":    {"a quantity may be a fraction", autoscalerReady, "value: 1", "value: 1.5", true},
		"HPACount":       {"a replica count must not be a fraction", autoscalerReady, "maxReplicas: 3", "maxReplicas: 3.5", false},
		"HPADegraded":    {"an earlier degraded condition decides", autoscalerReady, "conditions: [", `conditions: [{type: FailedGetResourceMetric, status: "True"}, `, false},
		"Deployment":     {"an available deployment is ready", deploymentReady, "", "", true},
		"DeployFraction": {"fractions of these counts are ignored", deploymentReady, "availableReplicas: 2", "availableReplicas: 2.9", true},
		"DeployString":   {"a desired count that is a string is ignored, so one is desired", deploymentReady, "spec: {replicas: 2}", `spec: {replicas: "2"}`, false},
		"DeployBadSpec":  {"without a spec one replica is desired", deploymentReady, "spec: {replicas: 2}, status: {updatedReplicas: 2, availableReplicas: 2", "spec: [], status: {updatedReplicas: 1, availableReplicas: 1", true},
		"DeployUnfit":    {"other fields of a deployment are not checked", deploymentReady, "spec: {", "spec: {template: 5, ", true},
		"DeployBroken":   {"an invalid condition is skipped", deploymentReady, "conditions: [", "conditions: [5, {type: Available}, ", true},
		"StatefulSet":    {"one replica is desired by default", autoReadyStateful, "", "", true},
		"StatefulEmpty":  {"revisions may be empty strings", autoReadyStateful, "currentRevision: a, updateRevision: a", `currentRevision: "", updateRevision: ""`, true},
		"StatefulNone":   {"revisions must exist", autoReadyStateful, "currentRevision: a, updateRevision: a", "", false},
		"StatefulNumber": {"revisions must be strings", autoReadyStateful, "currentRevision: a, updateRevision: a", "currentRevision: 1, updateRevision: 1", false},
		"DaemonSet":      {"all four counts are equal", daemons, "", "", true},
		"DaemonSetNone":  {"all four counts must exist", daemons, "numberReady: 3, ", "", false},
		"DaemonSetNull":  {"a null count is missing", daemons, "desiredNumberScheduled: 3", "desiredNumberScheduled: null", false},
		"Balancer":       {"a load balancer with an address is ready", balancer, "", "", true},
		"BalancerMap":    {"a list of addresses must not be a map", balancer, "[{ip: 10.0.0.1}]", "{ip: 10.0.0.1}", false},
		"ServiceType":    {"a type that is not a string is the default type", balancer, "type: LoadBalancer}, status", "type: [LoadBalancer]}, old", true},
		"Core":           {"the core group may have a slash", "{apiVersion: /v1, kind: Secret}", "", "", true},
		"Slashes":        {"an apiVersion has at most one slash", "{apiVersion: a/b/v1, kind: Secret}", "", "", false},
		"NoVersion":      {"an apiVersion must be a string", "{apiVersion: 1, kind: Secret}", "", "", false},
		"Other":          {"a Ready condition is used if the check fails", deploymentReady, "updatedReplicas: 2, availableReplicas: 2, conditions: [", `conditions: [{type: Ready, status: "True"}, `, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(tc.object, tc.from, tc.to)
			if tc.from == "" {
				text = tc.object
			} else if text == tc.object {
				t.Fatalf("%q is not in the object", tc.from)
			}
			e2e.Equal(t, tc.reason, tc.want, isReady(t, object(t, text)))
		})
	}
}

// FuzzAutoReadyKinds looks for objects that cause a panic, or whose readiness is not deterministic.
func FuzzAutoReadyKinds(f *testing.F) {
	for _, text := range []string{readyPod, boundClaim, replicaSetReady, jobDone, cronJobReady, autoscalerReady, deploymentReady, autoReadyStateful, daemons, balancer} {
		f.Add(protojson.Format(object(f, text)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		obj := &structpb.Struct{}
		if protojson.Unmarshal([]byte(text), obj) != nil {
			t.Skip("not JSON")
		}
		first := isReady(t, obj)
		obj.Fields["unknown"] = structpb.NewStringValue("to all kinds")
		e2e.Equal(t, "an unknown field does not change the readiness", first, isReady(t, obj))
	})
}

// autoReadyConditions are values for status.conditions, as JSON.
var autoReadyConditions = []string{
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

// TestAutoReadyCondition and FuzzAutoReadyCondition compare the builtin with the function
// of Crossplane that reads the condition Ready.
func TestAutoReadyCondition(t *testing.T) {
	yes := 0
	for _, c := range autoReadyConditions {
		t.Run(c, func(t *testing.T) { compareCondition(t, c) })
		if crossplaneReady(t, c) {
			yes++
		}
	}
	if yes < 5 || len(autoReadyConditions)-yes < 5 {
		t.Errorf("%d of %d are ready: the cases are not balanced", yes, len(autoReadyConditions))
	}
}

func FuzzAutoReadyCondition(f *testing.F) {
	for _, c := range autoReadyConditions {
		f.Add(c)
	}
	f.Fuzz(compareCondition)
}

func compareCondition(t *testing.T, conditions string) {
	obj := &structpb.Struct{}
	if protojson.Unmarshal([]byte(`{"status":{"conditions":`+conditions+`}}`), obj) != nil {
		t.Skip("not JSON")
	}
	// The builtin gets numbers as protobuf floats, so Crossplane's function must
	// get the same floats.
	text, err := json.Marshal(obj.AsMap()["status"].(map[string]any)["conditions"])
	if err != nil {
		t.Skip(err)
	}
	e2e.Equal(t, "the readiness is that of Crossplane's function", crossplaneReady(t, string(text)), isReady(t, obj))
}

func crossplaneReady(t *testing.T, conditions string) bool {
	t.Helper()
	var floats any
	e2e.NoError(t, json.Unmarshal([]byte(conditions), &floats))
	text := e2e.Must(json.Marshal(map[string]any{"conditions": floats}))(t)
	status := &xpv2.ConditionedStatus{}
	return kjson.Unmarshal(text, status) == nil && status.GetCondition(xpv2.TypeReady).Status == "True"
}
