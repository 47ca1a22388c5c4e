package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// A sequencing applies the rules of an input to one request.
type sequencing struct {
	*sequencerFunction
	in  *SequencerInput
	req *fnv1.RunFunctionRequest
	rsp *fnv1.RunFunctionResponse
	// composite and desired are the desired state. The rules change them.
	composite *fnv1.Resource
	desired   map[string]*fnv1.Resource
	observed  map[string]*fnv1.Resource
	usages    map[string]*fnv1.Resource
	// names are the names of all desired and observed resources, sorted. matching has the
	// names that match a regular expression, by the expression.
	names    []string
	matching map[string][]string
	// spent is the cost of conditions.
	spent uint64
	// early is true for versions before v0.6.0, which create other Usages.
	early bool
}

func newSequencing(f *sequencerFunction, in *SequencerInput, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) *sequencing {
	s := &sequencing{
		sequencerFunction: f, in: in, req: req, rsp: rsp,
		composite: req.GetDesired().GetComposite(),
		desired:   sdk.Desired(req),
		observed:  req.GetObserved().GetResources(),
		usages:    map[string]*fnv1.Resource{},
		matching:  map[string][]string{},
		early:     !sdk.Since(f.version, sequencerMeasured, "v0.6.0-0"),
	}
	s.names = slices.AppendSeq(slices.Collect(maps.Keys(s.desired)), maps.Keys(s.observed))
	slices.Sort(s.names)
	s.names = slices.Compact(s.names)
	return s
}

// run applies all rules. The error is a fatal result or a callError.
func (s *sequencing) run(ctx context.Context) error {
	for i := range s.in.Rules {
		if err := s.apply(ctx, &s.in.Rules[i]); err != nil {
			return err
		}
	}
	if s.req.GetDesired() == nil {
		// The real function crashes.
		return errors.New("cannot set desired composed resources: the request has no desired state")
	}
	maps.Copy(s.desired, s.usages)
	return nil
}

func (s *sequencing) state(resources map[string]*fnv1.Resource) *fnv1.State {
	if s.req.GetDesired() == nil {
		return nil
	}
	return &fnv1.State{Composite: s.composite, Resources: resources}
}

func (s *sequencing) apply(ctx context.Context, rule *SequencingRule) error {
	if rule.CreateOnly && rule.DeleteOnly {
		return fmt.Errorf("rule for sequence %v cannot have both deleteOnly and createOnly set to true", rule.Sequence)
	}
	holds, err := s.holds(ctx, rule)
	if err != nil {
		return err
	}
	if !holds {
		sdk.Normal(s.rsp, fmt.Sprintf("Skipping sequence %v: condition %q evaluated to false", rule.Sequence, rule.Condition))
	}
	if s.in.EnableDeletionSequencing && !rule.CreateOnly && !s.early {
		if err := s.addUsages(ctx, rule.Sequence); err != nil {
			return err
		}
	}
	if !holds || rule.DeleteOnly {
		return nil
	}
	for i, current := range rule.Sequence {
		if _, exists := s.observed[current]; exists {
			if s.early && s.in.EnableDeletionSequencing && i > 0 {
				if err := s.addEarlyUsages(ctx, []string{current}, rule.Sequence[i-1]); err != nil {
					return err
				}
			}
			continue
		}
		if err := s.delay(ctx, current, rule.Sequence[:i]); err != nil {
			return err
		}
	}
	return nil
}

// holds returns the result of a rule's condition. The condition sees the desired state of
// the request, which still has the resources that earlier rules removed.
func (s *sequencing) holds(ctx context.Context, rule *SequencingRule) (bool, error) {
	if rule.Condition == "" {
		return true, nil
	}
	variables := sdk.StateOf(s.req)
	variables["desired"] = s.state(s.req.GetDesired().GetResources())
	holds, err := s.conditions.Bool(ctx, rule.Condition, variables, &s.spent)
	if err != nil {
		return false, fmt.Errorf("cannot evaluate condition %q for sequence %v: %w", rule.Condition, rule.Sequence, err)
	}
	return holds, nil
}

// delay removes the desired resources that match current and do not exist, unless all earlier
// resources are ready.
func (s *sequencing) delay(ctx context.Context, current string, earlier []string) error {
	for _, before := range earlier {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		reason, err := s.unready(before)
		if err != nil {
			return err
		}
		names, err := s.match(current)
		if err != nil {
			return err
		}
		if reason != "" {
			sdk.Normal(s.rsp, fmt.Sprintf("Delaying creation of resource(s) matching %q because %q %s", current, before, reason))
			return s.remove(names)
		}
		if s.early && s.in.EnableDeletionSequencing {
			if err := s.requireObserved(names, before); err != nil {
				return err
			}
			if err := s.addEarlyUsages(ctx, names, before); err != nil {
				return err
			}
		}
	}
	return nil
}

// unready returns why the desired resources that match a pattern are not ready, or "".
func (s *sequencing) unready(pattern string) (string, error) {
	names, err := s.match(pattern)
	if err != nil {
		return "", err
	}
	all, ready := 0, 0
	for _, name := range names {
		if d, ok := s.desired[name]; ok {
			all++
			if d.GetReady() == fnv1.Ready_READY_TRUE {
				ready++
			}
		}
	}
	switch {
	case all == 0:
		return "does not exist yet", nil
	case ready < all:
		return fmt.Sprintf("is not fully ready (%d of %d)", ready, all), nil
	default:
		return "", nil
	}
}

// remove removes the desired resources with these names that do not exist.
func (s *sequencing) remove(names []string) error {
	for _, name := range names {
		_, desired := s.desired[name]
		if _, exists := s.observed[name]; exists || !desired {
			continue
		}
		delete(s.desired, name)
		switch {
		case !s.in.ResetCompositeReadiness:
		case s.composite == nil:
			// The real function crashes.
			return errors.New("cannot reset the readiness of the composite resource: the request has no desired composite resource")
		default:
			s.composite = &fnv1.Resource{
				Resource: s.composite.GetResource(), ConnectionDetails: s.composite.GetConnectionDetails(),
				Ready: fnv1.Ready_READY_FALSE,
			}
		}
	}
	return nil
}

// match returns the names of desired and observed resources that match a pattern.
func (s *sequencing) match(pattern string) ([]string, error) {
	if names, ok := s.matching[pattern]; ok {
		return names, nil
	}
	expr, err := s.compile(pattern)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, name := range s.names {
		matches, err := expr.MatchString(name)
		if err != nil {
			return nil, fmt.Errorf("cannot match regex %s: %w", pattern, err)
		}
		if matches {
			names = append(names, name)
		}
	}
	s.matching[pattern] = names
	return names, nil
}

const (
	usageV1 = "apiextensions.crossplane.io/v1beta1"
	usageV2 = "protection.crossplane.io/v1beta1"

	// maxUsages is the maximum number of Usages in a response. The real function has no limit.
	maxUsages = 10_000
)

// addUsages creates a Usage for each observed resource and each resource before it in the
// sequence. An invalid pattern is a callError.
func (s *sequencing) addUsages(ctx context.Context, sequence []string) error {
	for i := 1; i < len(sequence); i++ {
		using, err := s.match(sequence[i])
		if err != nil {
			return callError{message: err.Error()}
		}
		used, err := s.match(sequence[i-1])
		if err != nil {
			return callError{message: err.Error()}
		}
		if err := s.addUsagesOf(ctx, using, used); err != nil {
			return err
		}
	}
	return nil
}

// addEarlyUsages creates the Usages of versions before v0.6.0, which are a part of the checks of the
// creation: an entry that is the name of an observed resource uses the entry before it, and any other
// entry uses each earlier entry, once that is ready.
func (s *sequencing) addEarlyUsages(ctx context.Context, using []string, before string) error {
	used, err := s.match(before)
	if err != nil {
		return err
	}
	return s.addUsagesOf(ctx, using, used)
}

// requireObserved returns an error if a resource in using would use a desired resource that does not
// exist. Versions before v0.6.0 crash then.
func (s *sequencing) requireObserved(using []string, before string) error {
	by := slices.IndexFunc(using, s.uses)
	if by < 0 {
		return nil
	}
	used, err := s.match(before)
	if err != nil {
		return err
	}
	for _, of := range used {
		_, observed := s.observed[of]
		if _, desired := s.desired[of]; desired && !observed {
			return fmt.Errorf("cannot create usage of resource %q by %q: %q does not exist", of, using[by], of)
		}
	}
	return nil
}

// uses reports whether a resource is observed, so that it can use others, and is not a Usage itself.
func (s *sequencing) uses(by string) bool {
	user, ok := s.observed[by]
	return ok && !(s.isUsage(user.GetResource()) && sdk.Since(s.version, sequencerMeasured, "v0.5.0"))
}

// addUsagesOf creates a Usage by each resource in using that can use others, of each resource in used
// that is desired and observed.
func (s *sequencing) addUsagesOf(ctx context.Context, using, used []string) error {
	for _, by := range using {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !s.uses(by) {
			continue
		}
		if err := s.addUsagesBy(by, used); err != nil {
			return err
		}
	}
	return nil
}

func (s *sequencing) addUsagesBy(by string, used []string) error {
	user := s.observed[by]
	for _, name := range used {
		of, observed := s.observed[name]
		if _, desired := s.desired[name]; !desired || !observed {
			continue
		}
		if len(s.usages) >= maxUsages {
			return fmt.Errorf("the sequences have more than %d usages", maxUsages)
		}
		usage, err := s.usage(user.GetResource(), of.GetResource())
		if err != nil {
			return fmt.Errorf("cannot create usage of resource %q by %q: %w", name, by, err)
		}
		s.usages[by+"-"+name+"-usage"] = &fnv1.Resource{Resource: usage, Ready: fnv1.Ready_READY_TRUE}
	}
	return nil
}

// isUsage reports whether an object is a Usage of the version that the function creates.
func (s *sequencing) isUsage(object *structpb.Struct) bool {
	apiVersion, kind := textAt(object, "apiVersion"), textAt(object, "kind")
	if s.in.UsageVersion == "v1" {
		return apiVersion == usageV1 && kind == "Usage"
	}
	return apiVersion == usageV2 && (kind == "Usage" || kind == "ClusterUsage")
}

// usage returns a Usage of one object by another.
func (s *sequencing) usage(by, of *structpb.Struct) (*structpb.Struct, error) {
	metadata := map[string]any{"name": usageName(by, of)}
	usage := map[string]any{
		"apiVersion": usageV2, "kind": "ClusterUsage", "metadata": metadata,
		"spec": map[string]any{
			"by": usageReference(by), "of": usageReference(of),
			"reason": "dependency", "replayDeletion": s.in.ReplayDeletion,
		},
	}
	namespace := textAt(of, "metadata", "namespace")
	switch {
	case s.in.UsageVersion == "v1":
		usage["apiVersion"], usage["kind"] = usageV1, "Usage"
	case namespace != "":
		usage["kind"], metadata["namespace"] = "Usage", namespace
	}
	return sdk.Struct(usage)
}

func usageReference(object *structpb.Struct) map[string]any {
	return map[string]any{
		"apiVersion": textAt(object, "apiVersion"), "kind": textAt(object, "kind"),
		"resourceRef": map[string]any{"name": textAt(object, "metadata", "name")},
	}
}

// usageName returns the name of a Usage. It has a hash, and at most 63 bytes.
func usageName(by, of *structpb.Struct) string {
	const maxLength, kept = 63, 45
	base := strings.ToLower(strings.Join([]string{textAt(by, "kind"), textAt(by, "metadata", "name"), textAt(of, "kind"), textAt(of, "metadata", "name")}, "-"))
	sum := sha256.Sum256([]byte(base))
	suffix := hex.EncodeToString(sum[:3]) + "-dependency"
	if name := base + "-" + suffix; len(name) <= maxLength {
		return name
	}
	return strings.TrimSuffix(base[:kept], "-") + "-" + suffix
}

// textAt returns the string at a path of keys in an object, or "".
func textAt(object *structpb.Struct, keys ...string) string {
	return sdk.At(object, keys...).GetStringValue()
}
