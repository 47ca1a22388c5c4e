package xpkg

// ParseAnnotations and SignKey are for tests.
var (
	ParseAnnotations = parseAnnotations
	SignKey          = keySource.signKey
)
