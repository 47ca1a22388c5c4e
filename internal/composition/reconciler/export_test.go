package reconciler

// Encode is exported for tests.
var Encode = encode
