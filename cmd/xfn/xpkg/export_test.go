package xpkg

// ParseAnnotations is exported for tests.
var ParseAnnotations = parseAnnotations
