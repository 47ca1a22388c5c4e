package feature_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/composition/feature"
	"github.com/xfn-dev/xfn/internal/hint"
)

// TestIn checks which settings apply to which versions of Crossplane.
func TestIn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, setting, version string
		want                     feature.Settings
		warning, err             string
	}{
		"Off":       {"v1.16 has the switch", "composition-functions=false", "v1.16", feature.Settings{feature.CompositionFunctions: false}, "", ""},
		"On":        {"v1.11 has the switch", "external-secret-stores=true", "v1.11.3", feature.Settings{feature.ExternalSecretStores: true}, "", ""},
		"Ignored":   {"v1.17 accepts the flag, and functions are always on", "composition-functions=false", "v1.17", feature.Settings{}, "Crossplane v1.17 ignores the switch composition-functions: since v1.17, the feature is always on", ""},
		"AlwaysOn":  {"the setting is the state of v1.20", "composition-functions=true", "v1.20", feature.Settings{feature.CompositionFunctions: true}, "", ""},
		"Removed":   {"v2 does not start with the flag", "composition-functions-extra-resources=false", "v2.0", nil, "", "there is no switch composition-functions-extra-resources in Crossplane v2.0: v1.20 was the last version with it, and v1.16 the last in which it had an effect"},
		"Early":     {"v1.14 has no extra resources", "composition-functions-extra-resources=false", "v1.14", feature.Settings{feature.ExtraResources: false}, "", ""},
		"TooEarly":  {"v1.14 cannot have extra resources", "composition-functions-extra-resources=true", "v1.14", nil, "", "there is no feature composition-functions-extra-resources in Crossplane v1.14: it exists since v1.15"},
		"AlwaysOff": {"v2 has no external secret stores, but accepts the flag", "external-secret-stores=true", "v2.4", feature.Settings{}, "Crossplane v2.4 ignores the switch external-secret-stores: since v2.0, the feature is always off", ""},
		"StillOff":  {"v2 does not compare Compositions with schemas", "composition-webhook-schema-validation=false", "v2.4", feature.Settings{feature.SchemaValidation: false}, "", ""},
		"NoEffect":  {"a switch of another part of Crossplane is accepted", "usages=false", "v2.4", feature.Settings{"usages": false}, "the switch usages has no effect on a render", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := feature.ParseVersion(tc.version)
			if err != nil {
				t.Fatal(err)
			}
			all, err := feature.Parse([]string{tc.setting})
			if err != nil {
				t.Fatal(err)
			}
			got, warnings, err := all.In(v)
			switch {
			case tc.err != "":
				if err == nil || err.Error() != tc.err {
					t.Errorf("%s: got the error %v, want %s", tc.reason, err, tc.err)
				}
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

// TestParse checks the spellings of names, and the errors.
func TestParse(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"usages=false":                                              "usages",
		"enable-usages=false":                                       "usages",
		"--enable-usages=false":                                     "usages",
		"EnableBetaUsages=false":                                    "usages",
		"EnableAlphaClaimSSA=false":                                 "ssa-claims",
		"EnableRealtimeCompositions=false":                          "realtime-compositions",
		"EnableBetaCompositionFunctionsExtraResources=false":        feature.ExtraResources,
		"EnableBetaCompositionWebhookSchemaValidation=false":        feature.SchemaValidation,
		"EnableBetaCustomToManagedResourceConversion=false":         "custom-to-managed-resource-conversion",
		"--enable-composition-functions-extra-resources=False":      feature.ExtraResources,
		"EnableAlphaExternalSecretStores=0":                         feature.ExternalSecretStores,
		"EnableAlphaDependencyVersionDowngrades=f":                  "dependency-version-downgrades",
		"EnableBetaCompositionFunctions=true," /* not a boolean */ : "",
		"usages":                                                    "",
	} {
		got, err := feature.Parse([]string{given})
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "expected NAME=true or NAME=false, got ") {
				t.Errorf("%s: got %v and %v", given, got, err)
			}
			continue
		}
		if _, ok := got[want]; err != nil || !ok || len(got) != 1 || !got.Off(want) {
			t.Errorf("%s: got %v, want %s: %v", given, got, want, err)
		}
	}
	_, err := feature.Parse([]string{"usage=false"})
	if h := string(hint.Of(err)); err == nil || !strings.Contains(h, "did you mean usages? The features are composition-functions, ") {
		t.Errorf("a misspelled name: got %v and the hint %q", err, h)
	}
	_, err = feature.Parse([]string{"nothing-like-it=false"})
	if h := string(hint.Of(err)); err == nil || !strings.HasPrefix(h, "the features are composition-functions, ") {
		t.Errorf("an unknown name: got %v and the hint %q", err, h)
	}
}

// TestAll checks that the features are sorted, and have versions in order.
func TestAll(t *testing.T) {
	t.Parallel()
	all := feature.All()
	if !slices.IsSortedFunc(all, func(a, b feature.Feature) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the features are not sorted by name")
	}
	for _, f := range all {
		if f.Since > f.Last || f.Last > f.Until {
			t.Errorf("%s: the versions %v, %v and %v are not in order", f.Name, f.Since, f.Last, f.Until)
		}
	}
}
