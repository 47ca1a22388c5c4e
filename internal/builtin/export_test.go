package builtin

// CountKinds returns the number of API groups without twins, and the number of kinds.
func CountKinds() (groups, count int) {
	for _, names := range taggedKinds() {
		count += len(names)
	}
	return len(taggedKinds()), count
}
