package npm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
)

// explainJSON adds the line and the next action to an error of json.Unmarshal.
func explainJSON(data []byte, err error) error {
	offset, next := int64(0), hint.Hint("")
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset, next, err = explainSyntax(data[:min(e.Offset, int64(len(data)))], err)
	} else if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kinds := map[reflect.Kind]string{reflect.Map: "an object", reflect.Struct: "an object", reflect.Slice: "a list", reflect.Int: "a number"}
		field := strings.ReplaceAll(e.Field, reflect.TypeFor[Requirements]().Name()+".", "") // Its fields are embedded.
		offset, err = e.Offset, fmt.Errorf("%s must be %s, got %s", cmp.Or(field, "the file"), cmp.Or(kinds[e.Type.Kind()], "a string"), e.Value)
		next = "correct the value"
	} else {
		return err
	}
	if bytes.Contains(data, []byte("\n<<<<<<< ")) {
		next = "resolve the merge conflict with npm install"
	}
	return hint.Wrap(fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n")), err), next)
}

// explainSyntax returns the offset, the error and the next action for a file of JSON that is read up to
// an invalid character.
func explainSyntax(read []byte, err error) (int64, hint.Hint, error) {
	before := bytes.TrimRight(read[:max(len(read)-1, 0)], " \t\r\n")
	last, wrong := before[max(len(before)-1, 0):], read[max(len(read)-1, 0):]
	switch {
	case bytes.ContainsAny(wrong, "]}") && string(last) == ",":
		return int64(len(before)), "remove the comma", fmt.Errorf("a comma before %s", wrong)
	case string(wrong) == `"` && strings.HasSuffix(err.Error(), " pair"), strings.HasSuffix(err.Error(), " after array element"):
		return int64(len(before)), "add it", errors.New("a comma or a bracket is missing at the end")
	case string(wrong) == "/":
		return int64(len(read)), "remove the comment", errors.New("JSON has no comments")
	case string(wrong) == "'":
		return int64(len(read)), "write double quotes", errors.New("JSON has no single quotes")
	default:
		return int64(len(read)), "correct the JSON", err
	}
}
