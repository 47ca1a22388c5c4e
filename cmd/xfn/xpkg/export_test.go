package xpkg

// ParseAnnotations is for tests.
var ParseAnnotations = parseAnnotations
