package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

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
		for _, by := range using {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := s.addUsagesOf(by, used); err != nil {
				return err
			}
		}
	}
	return nil
}

// addUsagesOf creates a Usage by an observed resource of each resource in used that is desired
// and observed. If by is not observed or is a Usage, it creates no Usages.
func (s *sequencing) addUsagesOf(by string, used []string) error {
	user, ok := s.observed[by]
	if !ok || s.isUsage(user.GetResource()) && sdk.Since(s.version, sequencerMeasured, "v0.5.0") {
		return nil
	}
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
