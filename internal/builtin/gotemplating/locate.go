package gotemplating

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// templateLine matches the name and the line with which text/template begins its errors.
var templateLine = regexp.MustCompile(`template: [^:]*:(\d+):`)

// Locate returns the path of the field with the template to which a fatal result refers, and
// the line in this template, counted from 1. The input is in JSON. Locate returns "" if the
// result has no line, or if the template is not in the input.
func Locate(fatal string, input []byte) (field string, line int) {
	in := &GoTemplate{}
	m := templateLine.FindStringSubmatch(fatal)
	if m == nil || json.Unmarshal(input, in) != nil || in.Source != inlineSource || in.Inline == nil {
		return "", 0
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return "", 0
	}
	if in.Inline.Template != "" {
		return "inline.template", line
	}
	for i, part := range in.Inline.Templates {
		lines := strings.Count(part+separator, "\n")
		if line <= lines {
			return fmt.Sprintf("inline.templates[%d]", i), line
		}
		line -= lines
	}
	return "", 0
}
