package feature

// The features that change what a render does.
const (
	CompositionFunctions = "composition-functions"
	ExtraResources       = "composition-functions-extra-resources"
	SchemaValidation     = "composition-webhook-schema-validation"
	EnvironmentConfigs   = "environment-configs"
	ExternalSecretStores = "external-secret-stores"
	Operations           = "operations"
)

// A Feature is a switch of Crossplane.
type Feature struct {
	// Name is the name of Crossplane's flag without --enable-.
	Name string
	// Since and Last are the first and the last version in which the switch has an effect.
	// Until is the last version that accepts the flag. After Last, the feature is always On.
	Since, Last, Until Version
	On                 bool
	// Effect describes in Markdown how the switch changes a render, or is "" if it does not.
	Effect string
}

// All returns all features, sorted by name.
func All() []Feature {
	return []Feature{
		{
			Name: CompositionFunctions, Since: 111, Last: 116, Until: 120, On: true,
			Effect: "`false`: Crossplane has only the composer for `mode: Resources`. It composes nothing for a Composition of mode Pipeline, and ignores `spec.functions`.",
		},
		{
			Name: ExtraResources, Since: 115, Last: 116, Until: 120, On: true,
			Effect: "`false`: each function is called once, and what it requires is ignored.",
		},
		{Name: "composition-revisions", Since: 111, Last: 111, Until: 120, On: true},
		{
			Name: SchemaValidation, Since: 112, Last: 120, Until: Newest,
			Effect: "`false`: the patches of Compositions are not compared with schemas, by `expect.valid` of suites, and by the validation of a composed Composition in a render. Errors of integrity remain. Crossplane v2 does not compare them; xfn does, unless it is switched off.",
		},
		{Name: "custom-to-managed-resource-conversion", Since: 200, Last: Newest, Until: Newest},
		{Name: "dependency-version-downgrades", Since: 120, Last: Newest, Until: Newest},
		{Name: "dependency-version-upgrades", Since: 118, Last: Newest, Until: Newest},
		{Name: "deployment-runtime-configs", Since: 114, Last: Newest, Until: Newest},
		{
			Name: EnvironmentConfigs, Since: 111, Last: 117, Until: 120,
			Effect: "`false`: `spec.environment` of a Composition loads no EnvironmentConfigs. In profile `alpha`, there is no environment, and patches of it have no effect.",
		},
		{
			Name: ExternalSecretStores, Since: 111, Last: 120, Until: Newest,
			Effect: "`true`, in profile `alpha`: a composite resource without `publishConnectionDetailsTo` gets that of the Composition's `publishConnectionDetailsWithStoreConfigRef`. The `crossplane render` of later versions does not set it.",
		},
		{Name: "function-response-cache", Since: 120, Last: Newest, Until: Newest},
		{
			Name: Operations, Since: 200, Last: Newest, Until: Newest,
			Effect: "`false`: the render of an Operation fails.",
		},
		{Name: "pipeline-inspector", Since: 202, Last: Newest, Until: Newest},
		{Name: "provider-deletion-protection", Since: 203, Last: Newest, Until: Newest},
		{Name: "realtime-compositions", Since: 114, Last: Newest, Until: Newest},
		{Name: "signature-verification", Since: 118, Last: Newest, Until: Newest},
		{Name: "ssa-claims", Since: 115, Last: Newest, Until: Newest},
		{Name: "usages", Since: 114, Last: Newest, Until: Newest},
	}
}
