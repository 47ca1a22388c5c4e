package builtin

import (
	"context"
	"fmt"
	"slices"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
)

func autoReady() Builtin {
	return Builtin{
		Name: "function-auto-ready", Measured: autoReadyMeasured, From: "v0.6.0", Below: "v0.8.0",
		Input:    inputOf[AutoReadyInput]("autoready.fn.crossplane.io/v1beta1 Input", composition.Input{}),
		Covered:  "`ttl`; the kinds that the real function supports, and the condition Ready for all others; with the feature gate `CELHealthcheckCustomizations`, which is off by default, `celHealthCheckCustomization` and `celHealthCheckCustomizationFrom`. Before v0.7.0, any input is ignored.",
		Differs:  "If `celHealthCheckCustomizationFrom` leads to no rules, those in the input are used. The real function crashes. Warnings are in the order of the resources' names. The cost of one rule (1,000,000 of CEL's units, about a second) and of all rules of a request (ten times as much) is limited, and the timeout of the render applies.",
		Settings: autoReadySettings(),
		New: func(o Options) function.Runner {
			o.autoReady.Version = version(o.Package)
			return NewAutoReady(o.autoReady)
		},
	}
}

// AutoReadyInput is the input of function-auto-ready. All fields are optional.
type AutoReadyInput struct {
	sdk.Meta `json:",inline"`

	// TTL is the time to live of the response, as a Go duration. It may be zero
	// or negative. If it is empty, it is sdk.TTL.
	TTL string `json:"ttl"`
	// CELHealthCheckCustomization are CEL rules by group_version_kind. They and the next field
	// are ignored unless Options.CELHealthChecks is set.
	CELHealthCheckCustomization map[string]string `json:"celHealthCheckCustomization"`
	// CELHealthCheckCustomizationFrom is the path of further rules in the context.
	CELHealthCheckCustomizationFrom string `json:"celHealthCheckCustomizationFrom"`
}

// autoReadyMeasured is the version of the real function with which tests compare the builtin.
const autoReadyMeasured = "v0.7.0"

// AutoReadyOptions configure the function, like the flags of the real one.
type AutoReadyOptions struct {
	// TTL is the time to live of a response if the input does not set it. The default is sdk.TTL.
	TTL *time.Duration
	// CELHealthChecks enables the CEL rules in inputs: the feature gate
	// CELHealthcheckCustomizations.
	CELHealthChecks bool
	// Version is the version of the real function to imitate, such as v0.7.0. Any other
	// text, such as "", means the newest release.
	Version string
}

// NewAutoReady returns function-auto-ready. It caches compiled CEL rules.
func NewAutoReady(o AutoReadyOptions) function.Runner {
	f := &autoReadyFunction{AutoReadyOptions: o, cel: newHealthCEL()}
	// Earlier versions have neither an input nor the options.
	f.hasInput = sdk.Since(o.Version, autoReadyMeasured, "v0.7.0-0")
	return function.RunnerFunc(f.run)
}

type autoReadyFunction struct {
	AutoReadyOptions
	hasInput bool
	cel      *sdk.CEL
}

// run sets a desired resource to ready if its readiness is unspecified and the
// observed resource is ready. Like the real function, it drops the connection
// details of desired resources.
func (f *autoReadyFunction) run(ctx context.Context, _ string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := sdk.To(req)
	in, err := f.input(req, rsp)
	if err != nil {
		return sdk.Fatal(rsp, err), nil
	}
	rsp.Desired = &fnv1.State{Composite: req.GetDesired().GetComposite(), Resources: sdk.Desired(req)}
	healthChecks := f.healthChecks(in, req)
	for _, name := range manifest.Keys(rsp.GetDesired().GetResources()) {
		d := rsp.GetDesired().GetResources()[name]
		switch d.GetReady() {
		case fnv1.Ready_READY_TRUE, fnv1.Ready_READY_FALSE:
		case fnv1.Ready_READY_UNSPECIFIED:
			o, ok := req.GetObserved().GetResources()[name]
			if !ok {
				continue
			}
			if d.Ready, err = healthChecks.evaluate(ctx, o.GetResource()); err != nil {
				sdk.Warn(rsp, err)
			}
			if ctx.Err() != nil {
				return nil, fmt.Errorf("checking the health of %q: %w", name, context.Cause(ctx))
			}
			if d.GetReady() == fnv1.Ready_READY_UNSPECIFIED && isReady(o.GetResource()) {
				d.Ready = fnv1.Ready_READY_TRUE
			}
		default:
			d.Ready = fnv1.Ready_READY_UNSPECIFIED
		}
	}
	return rsp, nil
}

// input decodes the input, and sets the time to live in rsp.
func (f *autoReadyFunction) input(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) (*AutoReadyInput, error) {
	if !f.hasInput {
		return &AutoReadyInput{}, nil
	}
	if f.TTL != nil {
		rsp.Meta.Ttl = durationpb.New(*f.TTL)
	}
	in, err := sdk.Input[AutoReadyInput](req)
	if err != nil {
		return nil, err
	}
	if in.TTL != "" {
		ttl, err := time.ParseDuration(in.TTL)
		if err != nil {
			return nil, fmt.Errorf("cannot set ttl: %w", err)
		}
		rsp.Meta.Ttl = durationpb.New(ttl)
	}
	return in, nil
}

// isReady reports whether an observed object is ready: it passes the check for its
// kind in readyChecks, or its condition Ready is True.
func isReady(obj *structpb.Struct) bool {
	check, ok := readyChecks[kindOf(obj)]
	return ok && check(obj) || sdk.ConditionOf(obj, "Ready").Status == "True"
}

// kindOf returns the kind of an object, or the zero value if its apiVersion is invalid.
func kindOf(obj *structpb.Struct) kschema.GroupVersionKind {
	gv, err := kschema.ParseGroupVersion(sdk.At(obj, "apiVersion").GetStringValue())
	if err != nil {
		return kschema.GroupVersionKind{}
	}
	return gv.WithKind(sdk.At(obj, "kind").GetStringValue())
}

// readyChecks maps Kubernetes kinds to their readiness checks. An object of any other
// kind is ready if its condition Ready is True.
var readyChecks = map[kschema.GroupVersionKind]func(*structpb.Struct) bool{
	{Version: "v1", Kind: "ConfigMap"}:      alwaysReady,
	{Version: "v1", Kind: "Namespace"}:      alwaysReady,
	{Version: "v1", Kind: "Secret"}:         alwaysReady,
	{Version: "v1", Kind: "ServiceAccount"}: alwaysReady,

	{Version: "v1", Kind: "Service"}: func(obj *structpb.Struct) bool {
		return textAt(obj, "spec", "type") != "LoadBalancer" || hasAddress(obj)
	},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}: hasAddress,
	{Version: "v1", Kind: "PersistentVolumeClaim"}:               typedCheck(func(obj *structpb.Struct) bool { return textAt(obj, "status", "phase") == "Bound" }),

	{Version: "v1", Kind: "Pod"}: typedCheck(podReady),
	{Group: "apps", Version: "v1", Kind: "Deployment"}: func(obj *structpb.Struct) bool {
		return countsEqual(obj, desiredReplicas(obj), "updatedReplicas", "availableReplicas") && hasCondition(obj, "Available")
	},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}: statefulSetReady,
	{Group: "apps", Version: "v1", Kind: "DaemonSet"}:   daemonSetReady,
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}:  typedCheck(replicaSetReady),
	{Group: "batch", Version: "v1", Kind: "Job"}: typedCheck(func(obj *structpb.Struct) bool {
		return firstTrueCondition(obj, "Failed", "Suspended", "Complete") == "Complete"
	}),
	{Group: "batch", Version: "v1", Kind: "CronJob"}: typedCheck(cronJobReady),

	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: typedCheck(autoscalerReady),
}

func alwaysReady(*structpb.Struct) bool { return true }

// typedCheck returns a check that calls the given check. The returned check also fails
// if a field of the object has the wrong type.
func typedCheck(check func(*structpb.Struct) bool) func(*structpb.Struct) bool {
	return func(obj *structpb.Struct) bool {
		kind, ok := schema.FindKind(kindOf(obj))
		return ok && kind.Fits(obj.AsMap()) && check(obj)
	}
}

func hasAddress(obj *structpb.Struct) bool {
	return len(sdk.At(obj, "status", "loadBalancer", "ingress").GetListValue().GetValues()) > 0
}

func podReady(obj *structpb.Struct) bool {
	switch sdk.At(obj, "status", "phase").GetStringValue() {
	case "Succeeded":
		return true
	case "Running":
		return sdk.At(obj, "spec", "restartPolicy").GetStringValue() == "Always" && hasCondition(obj, "Ready")
	default:
		return false
	}
}

func replicaSetReady(obj *structpb.Struct) bool {
	generation, _ := wholeNumber(sdk.At(obj, "metadata", "generation"))
	observed, _ := wholeNumber(sdk.At(obj, "status", "observedGeneration"))
	available, _ := wholeNumber(sdk.At(obj, "status", "availableReplicas"))
	// The real function converts the numbers of replicas to int32, which wraps around.
	return !hasCondition(obj, "ReplicaFailure") && observed >= generation && int32(available) >= int32(desiredReplicas(obj))
}

func cronJobReady(obj *structpb.Struct) bool {
	if sdk.At(obj, "spec", "suspend").GetBoolValue() {
		return true
	}
	scheduled, err := time.Parse(time.RFC3339, sdk.At(obj, "status", "lastScheduleTime").GetStringValue())
	if err != nil {
		return false
	}
	succeeded, err := time.Parse(time.RFC3339, sdk.At(obj, "status", "lastSuccessfulTime").GetStringValue())
	active := sdk.At(obj, "status", "active").GetListValue().GetValues()
	return len(active) > 0 || err == nil && !succeeded.Before(scheduled)
}

func autoscalerReady(obj *structpb.Struct) bool {
	ready := []string{"ScalingActive", "ScalingLimited"}
	degraded := []string{"FailedGetScale", "FailedUpdateScale", "FailedGetResourceMetric", "InvalidSelector"}
	return slices.Contains(ready, firstTrueCondition(obj, append(degraded, ready...)...))
}

func hasCondition(obj *structpb.Struct, conditionType string) bool {
	return firstTrueCondition(obj, conditionType) != ""
}

// firstTrueCondition returns the type of the first condition that is True and whose type
// is in types, or "".
func firstTrueCondition(obj *structpb.Struct, types ...string) string {
	for _, c := range sdk.At(obj, "status", "conditions").GetListValue().GetValues() {
		condition := c.GetStructValue()
		conditionType := sdk.At(condition, "type").GetStringValue()
		if slices.Contains(types, conditionType) && sdk.At(condition, "status").GetStringValue() == "True" {
			return conditionType
		}
	}
	return ""
}

func statefulSetReady(obj *structpb.Struct) bool {
	current, hasCurrent := sdk.At(obj, "status", "currentRevision").GetKind().(*structpb.Value_StringValue)
	update, hasUpdate := sdk.At(obj, "status", "updateRevision").GetKind().(*structpb.Value_StringValue)
	return countsEqual(obj, desiredReplicas(obj), "readyReplicas", "currentReplicas") &&
		hasCurrent && hasUpdate && current.StringValue == update.StringValue
}

func daemonSetReady(obj *structpb.Struct) bool {
	want, ok := wholeNumber(sdk.At(obj, "status", "desiredNumberScheduled"))
	return ok && countsEqual(obj, want, "numberReady", "updatedNumberScheduled", "numberAvailable")
}

// desiredReplicas returns spec.replicas. The default is 1.
func desiredReplicas(obj *structpb.Struct) int64 {
	if n, ok := wholeNumber(sdk.At(obj, "spec", "replicas")); ok {
		return n
	}
	return 1
}

// countsEqual reports whether the fields named counts in status are all equal to want.
func countsEqual(obj *structpb.Struct, want int64, counts ...string) bool {
	for _, field := range counts {
		if n, ok := wholeNumber(sdk.At(obj, "status", field)); !ok || n != want {
			return false
		}
	}
	return true
}

// wholeNumber returns a number without its fractional part, and false for any other value.
func wholeNumber(v *structpb.Value) (int64, bool) {
	n, ok := v.GetKind().(*structpb.Value_NumberValue)
	if !ok {
		return 0, false
	}
	return int64(n.NumberValue), true
}
