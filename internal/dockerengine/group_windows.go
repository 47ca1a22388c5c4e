package dockerengine

// groupOf names the group whose members may use an engine.
func groupOf(string) string { return "docker-users" }
