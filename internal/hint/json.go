package hint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// JSONError returns err, or an error for users if err is about a value of a wrong type: it names the
// field and the JSON type of the value, and no type of Go.
func JSONError(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	field := cmp.Or(wrong.Field, "it")
	return fmt.Errorf("%s must not be a JSON %s", strings.ToLower(field[:1])+field[1:], wrong.Value)
}
