package function

// ReadRequest is for tests of what files may hold.
var ReadRequest = readRequest
