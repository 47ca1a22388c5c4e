package dockerengine

// groupOf returns the name of the Windows group whose members may use Docker.
func groupOf(string) string { return "docker-users" }
