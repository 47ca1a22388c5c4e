package check

// What tests ask for by itself.
var (
	Change = change
	TypeOf = typeOf
)
