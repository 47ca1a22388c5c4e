package dockerengine

// FirstSocket and Sockets are for tests on machines where an engine runs.
var FirstSocket = firstSocket

// Sockets returns the paths that are tried for an environment, in their order.
func Sockets(env Environment) []string { return env.sockets() }
