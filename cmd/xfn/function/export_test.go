package function

// ReadRequest exposes readRequest to tests.
var ReadRequest = readRequest
