package limit

// SetSoon has searches of more steps done one match at a time, and reads the text
// piece by piece for one of more.
func (b *Budget) SetSoon(steps float64) { b.soon = steps }
