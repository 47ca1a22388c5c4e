package hint

import "errors"

type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// Wrap returns err with a hint: one sentence in the imperative that says what
// to try next. The text of err stays as it is. A nil err stays nil.
func Wrap(err error, hint string) error {
	if err == nil {
		return nil
	}
	return hinted{error: err, hint: hint}
}

// Of returns the outermost hint in err's chain, or "".
func Of(err error) string {
	var h hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}
