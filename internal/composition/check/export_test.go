package check

// Exported for tests.
var (
	Change = change
	TypeOf = typeOf
)
