package dockerengine

// FirstSocket lets tests pass paths of their own. A test cannot use the default sockets,
// because an engine may listen on them.
var FirstSocket = firstSocket

// Sockets returns the paths of the default sockets of an environment, in the order in
// which Find tries them.
func Sockets(env Environment) []string { return env.sockets() }
