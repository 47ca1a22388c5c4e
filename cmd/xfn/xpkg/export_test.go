package xpkg

// ParseAnnotations and SignKey are exported for tests.
var (
	ParseAnnotations = parseAnnotations
	SignKey          = KeySource.Signer
)
