package composition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

// TestFeaturesIn checks which settings apply to which versions of Crossplane.
func TestFeaturesIn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, setting, version string
		want                     composition.Features
		warning, err             string
	}{
		"Off":       {"v1.16 has the switch", "composition-functions=false", "v1.16", composition.Features{composition.FeatureFunctions: false}, "", ""},
		"On":        {"v1.11 has the switch", "external-secret-stores=true", "v1.11.3", composition.Features{composition.FeatureSecretStores: true}, "", ""},
		"Ignored":   {"v1.17 accepts the flag, and functions are always on", "composition-functions=false", "v1.17", composition.Features{}, "Crossplane v1.17 ignores the switch composition-functions: since v1.17, the feature is always on", ""},
		"AlwaysOn":  {"the setting is the state of v1.20", "composition-functions=true", "v1.20", composition.Features{composition.FeatureFunctions: true}, "", ""},
		"Removed":   {"v2 does not start with the flag", "composition-functions-extra-resources=false", "v2.0", nil, "", "version v2.0 of Crossplane has no switch composition-functions-extra-resources: v1.20 was the last version with it, and v1.16 the last in which it had an effect"},
		"Early":     {"v1.14 has no extra resources", "composition-functions-extra-resources=false", "v1.14", composition.Features{composition.FeatureExtraResources: false}, "", ""},
		"TooEarly":  {"v1.14 cannot have extra resources", "composition-functions-extra-resources=true", "v1.14", nil, "", "version v1.14 of Crossplane has no feature composition-functions-extra-resources: expected v1.15 or later"},
		"AlwaysOff": {"v2 has no external secret stores, but accepts the flag", "external-secret-stores=true", "v2.4", composition.Features{}, "Crossplane v2.4 ignores the switch external-secret-stores: since v2.0, the feature is always off", ""},
		"StillOff":  {"v2 does not compare Compositions with schemas", "composition-webhook-schema-validation=false", "v2.4", composition.Features{composition.FeatureSchemaValidation: false}, "", ""},
		"NoEffect":  {"a switch of another part of Crossplane is accepted", "usages=false", "v2.4", composition.Features{"usages": false}, "the switch usages has no effect on a render", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := e2e.Must(composition.ParseCrossplaneVersion(tc.version))(t)
			all := e2e.Must(composition.ParseFeatures([]string{tc.setting}))(t)
			got, warnings, err := all.In(v)
			switch {
			case tc.err != "":
				e2e.Equal(t, tc.reason, tc.err, fmt.Sprint(err))
			case err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			default:
				if diff := cmp.Diff(tc.want, got); diff != "" || strings.Join(warnings, "\n") != tc.warning {
					t.Errorf("%s: got the warnings %q (-want +got):\n%s", tc.reason, warnings, diff)
				}
			}
		})
	}
}

// TestParseFeatures checks the spellings of names, and the errors.
func TestParseFeatures(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"usages=false":                                              "usages",
		"enable-usages=false":                                       "usages",
		"--enable-usages=false":                                     "usages",
		"EnableBetaUsages=false":                                    "usages",
		"EnableAlphaClaimSSA=false":                                 "ssa-claims",
		"EnableRealtimeCompositions=false":                          "realtime-compositions",
		"EnableBetaCompositionFunctionsExtraResources=false":        composition.FeatureExtraResources,
		"EnableBetaCompositionWebhookSchemaValidation=false":        composition.FeatureSchemaValidation,
		"EnableBetaCustomToManagedResourceConversion=false":         "custom-to-managed-resource-conversion",
		"--enable-composition-functions-extra-resources=False":      composition.FeatureExtraResources,
		"EnableAlphaExternalSecretStores=0":                         composition.FeatureSecretStores,
		"EnableAlphaDependencyVersionDowngrades=f":                  "dependency-version-downgrades",
		"EnableBetaCompositionFunctions=true," /* not a boolean */ : "",
		"usages":                                                    "",
	} {
		got, err := composition.ParseFeatures([]string{given})
		if want == "" {
			e2e.ErrorHas(t, fmt.Sprintf("%q needs a name and a boolean", given), err, "expected NAME=true or NAME=false, got ")
			continue
		}
		if _, ok := got[want]; err != nil || !ok || len(got) != 1 || !got.Off(want) {
			t.Errorf("%s: got %v, want %s: %v", given, got, want, err)
		}
	}
	_, err := composition.ParseFeatures([]string{"usage=false"})
	if h := string(hint.Of(err)); err == nil || !strings.Contains(h, "did you mean usages? The features are composition-functions, ") {
		t.Errorf("a misspelled name: got %v and the hint %q", err, h)
	}
	_, err = composition.ParseFeatures([]string{"nothing-like-it=false"})
	if h := string(hint.Of(err)); err == nil || !strings.HasPrefix(h, "the features are composition-functions, ") {
		t.Errorf("an unknown name: got %v and the hint %q", err, h)
	}
}

// TestAllFeatures checks that the features are sorted, and have versions in order.
func TestAllFeatures(t *testing.T) {
	t.Parallel()
	all := composition.AllFeatures()
	if !slices.IsSortedFunc(all, func(a, b composition.Feature) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the features are not sorted by name")
	}
	for _, f := range all {
		if f.Since > f.Last || f.Last > f.Until {
			t.Errorf("%s: the versions %v, %v and %v are not in order", f.Name, f.Since, f.Last, f.Until)
		}
	}
}
