package reconciler

// A Version is what versions of the classic renderer do in different ways.
type ClassicVersion struct {
	// Capabilities tells functions what the engine can do.
	Capabilities bool
	// Conditions writes conditions to the XR.
	Conditions bool
	// CompositeReady obeys what functions say of the XR's own readiness.
	CompositeReady bool
	// Namespaces puts resources into the XR's namespace, and prints that.
	Namespaces bool
	// Nested takes name prefix and claim from the XR's labels. Otherwise the
	// prefix is always the XR's own name, also where a function set another,
	// and the claim is the one in spec.claimRef.
	Nested bool
	// Requirements knows required resources and schemas besides extra ones.
	Requirements bool
	// Credentials gives functions Secrets.
	Credentials bool
}
