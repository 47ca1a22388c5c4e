package builtin

// These find the fields of inputs to which fatal results refer.
var (
	LocateFilter            = locateFilter
	LocateEnvironmentSource = locateEnvironmentSource
	LocateExtraSource       = locateExtraSource
	LocateSequence          = locateSequence
	LocateTagSource         = locateTagSource
)

// CountKinds returns the number of API groups without twins, and that of kinds.
func CountKinds() (groups, count int) {
	for _, names := range taggedKinds() {
		count += len(names)
	}
	return len(taggedKinds()), count
}
