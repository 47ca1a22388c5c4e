package celfilter

import (
	"fmt"
	"strconv"
	"strings"
)

// Locate returns the path of the field in an input to which a fatal result refers, and the line
// in the text of an expression, counted from 1. It returns "" if it finds no field.
func Locate(fatal string, _ []byte) (field string, line int) {
	for prefix, name := range map[string]string{"cannot compile regular expression ": "name", "cannot evaluate CEL expression ": "expression"} {
		rest, ok := strings.CutPrefix(fatal, prefix)
		quoted, err := strconv.QuotedPrefix(rest)
		if !ok || err != nil {
			continue
		}
		var index int
		if _, err := fmt.Sscanf(rest[len(quoted):], " for filter %d:", &index); err != nil {
			continue
		}
		line := 1
		if _, at, ok := strings.Cut(rest[len(quoted):], "ERROR: <input>:"); ok {
			// A fault without a place has the line -1.
			if n, err := strconv.Atoi(at[:max(0, strings.Index(at, ":"))]); err == nil && n > 1 {
				line = n
			}
		}
		return fmt.Sprintf("filters[%d].%s", index, name), line
	}
	return "", 0
}
