package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/xfn-dev/xfn/internal/proc"
)

// keysOnly matches a document that begins with a key in the first column. In such a document,
// content after the first object can only follow a directive or the end line "...".
var keysOnly = proc.Regexp(`^(?:[ \t\r]*(?:#.*)?\n)*[A-Za-z0-9"']`)

// AfterEnd returns the line in the file of content after the first object of the document, or 0.
// YAML readers ignore such content. It can follow an object in flow style, such as JSON, an indented
// object, a directive, or the end line "...".
func (d Document) AfterEnd() int {
	if d.JSON != nil || keysOnly().Match(d.Text) && !bytes.Contains(d.Text, []byte("\n%")) && !bytes.Contains(d.Text, []byte("\n...")) {
		return 0
	}
	if size := flowSize(d.Text); size > 0 {
		rest := Document{Line: d.Line + bytes.Count(d.Text[:size], []byte("\n")), Text: d.Text[size:]}
		switch {
		case Blank(rest.Text):
			return 0
		case bytes.HasPrefix(bytes.TrimLeft(rest.Text, blanks), []byte("{")):
			return rest.FirstLine()
		}
	}
	if len(d.Text) > maxSuspect {
		return 0
	}
	dec := yamlv3.NewDecoder(bytes.NewReader(d.Text))
	var first, second yamlv3.Node
	if dec.Decode(&first) != nil {
		if yamlv2.Unmarshal(d.Text, new(any)) != nil {
			return 0
		}
		return d.Line // Only yaml/v3 refuses a directive in a document.
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
		return 0
	case err != nil:
		line, _ := cutLine(err.Error()) // The library counts lines from 0.
		return d.Line + line
	}
	return d.Line + second.Line - 1
}

// Ignored returns an *Error for the content after the first object of the document, or nil.
func (d Document) Ignored() error {
	line := d.AfterEnd()
	if line == 0 {
		return nil
	}
	return &Error{d.Path, line, errors.New(`content after the end of the object is ignored; begin each document with "---"`)}
}

// flowSize returns the size of the object or list with which text begins, including blanks before it,
// or 0. It knows JSON, and flow style without quotes and comments.
func flowSize(text []byte) int {
	depth := 0
	for n := 0; n < len(text); n++ {
		switch text[n] {
		case '"':
			n += stringLength(text[n:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 && (!bytes.ContainsAny(text[:n+1], `"'#`) || json.Valid(text[:n+1])) {
				return n + 1
			}
		case ' ', '\t', '\r', '\n':
			continue
		}
		if depth <= 0 {
			return 0
		}
	}
	return 0
}
