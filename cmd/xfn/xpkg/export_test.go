package xpkg

// SignKey is exported for tests.
var SignKey = KeySource.Signer
