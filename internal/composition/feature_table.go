package composition

// The features that change what a render does.
const (
	FeatureFunctions          = "composition-functions"
	FeatureExtraResources     = "composition-functions-extra-resources"
	FeatureSchemaValidation   = "composition-webhook-schema-validation"
	FeatureEnvironmentConfigs = "environment-configs"
	FeatureSecretStores       = "external-secret-stores"
	FeatureOperations         = "operations"
)

// A Feature is a switch of Crossplane.
type Feature struct {
	// Name is the name of Crossplane's flag without --enable-.
	Name string
	// Since and Last are the first and the last version in which the switch has an effect.
	// Until is the last version that accepts the flag. After Last, the feature is always On.
	Since, Last, Until CrossplaneVersion
	On                 bool
	// Effect describes in Markdown how the switch changes a render, or is "" if it does not.
	Effect string
}

// AllFeatures returns all features, sorted by name. The table has the flags --enable-NAME of
// Crossplane v1.11 to v2.4.
func AllFeatures() []Feature {
	return []Feature{
		{
			Name: FeatureFunctions, Since: 111, Last: 116, Until: 120, On: true,
			Effect: "`false`: Crossplane has only the composer for `mode: Resources`. It composes nothing for a Composition of mode Pipeline, and ignores `spec.functions`.",
		},
		{
			Name: FeatureExtraResources, Since: 115, Last: 116, Until: 120, On: true,
			Effect: "`false`: each function is called once, and what it requires is ignored.",
		},
		{Name: "composition-revisions", Since: 111, Last: 111, Until: 120, On: true},
		{
			Name: FeatureSchemaValidation, Since: 112, Last: 120, Until: NewestVersion,
			Effect: "`false`: the patches of Compositions are not compared with schemas, by `expect.valid` of suites, and by the validation of a composed Composition in a render. Errors of integrity remain. Crossplane v2 does not compare them; xfn does, unless it is switched off.",
		},
		{Name: "custom-to-managed-resource-conversion", Since: 200, Last: NewestVersion, Until: NewestVersion},
		{Name: "dependency-version-downgrades", Since: 120, Last: NewestVersion, Until: NewestVersion},
		{Name: "dependency-version-upgrades", Since: 118, Last: NewestVersion, Until: NewestVersion},
		{Name: "deployment-runtime-configs", Since: 114, Last: NewestVersion, Until: NewestVersion},
		{
			Name: FeatureEnvironmentConfigs, Since: 111, Last: 117, Until: 120,
			Effect: "`false`: `spec.environment` of a Composition loads no EnvironmentConfigs. In profile `alpha`, there is no environment, and patches of it have no effect.",
		},
		{
			Name: FeatureSecretStores, Since: 111, Last: 120, Until: NewestVersion,
			Effect: "`true`, in profile `alpha`: a composite resource without `publishConnectionDetailsTo` gets this field from the Composition's `publishConnectionDetailsWithStoreConfigRef`. The `crossplane render` of later versions does not set it.",
		},
		{Name: "function-response-cache", Since: 120, Last: NewestVersion, Until: NewestVersion},
		{
			Name: FeatureOperations, Since: 200, Last: NewestVersion, Until: NewestVersion,
			Effect: "`false`: the render of an Operation fails.",
		},
		{Name: "pipeline-inspector", Since: 202, Last: NewestVersion, Until: NewestVersion},
		{Name: "provider-deletion-protection", Since: 203, Last: NewestVersion, Until: NewestVersion},
		{Name: "realtime-compositions", Since: 114, Last: NewestVersion, Until: NewestVersion},
		{Name: "signature-verification", Since: 118, Last: NewestVersion, Until: NewestVersion},
		{Name: "ssa-claims", Since: 115, Last: NewestVersion, Until: NewestVersion},
		{Name: "usages", Since: 114, Last: NewestVersion, Until: NewestVersion},
	}
}
