package dockerengine

// groupOf returns the name of the group whose members may use an engine.
func groupOf(string) string { return "docker-users" }
