package dockerengine

// FirstSocket exposes firstSocket to tests, because an engine may run on the
// machine.
var FirstSocket = firstSocket

// Sockets returns the default sockets of an environment, in order.
func Sockets(env Environment) []string { return env.sockets() }
