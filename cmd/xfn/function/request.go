package function

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/internal/manifest"
)

// readRequest reads a request in YAML or JSON. A field that requests do not have
// is an error.
func readRequest(ctx context.Context, r manifest.Reader, path string) (*fnv1.RunFunctionRequest, error) {
	doc, more, err := r.First(ctx, path)
	if err != nil {
		return nil, err
	}
	if more {
		return nil, &manifest.Error{Path: path, Err: errors.New("it holds several documents, but one request is sent at a time")}
	}
	req := &fnv1.RunFunctionRequest{}
	if isJSON(doc.Text) && protojson.Unmarshal(doc.Text, req) == nil {
		return req, nil
	}
	j, err := doc.StrictJSON()
	if err != nil {
		return nil, err
	}
	proto.Reset(req)
	if err := protojson.Unmarshal(j, req); err != nil {
		return nil, misfit(doc, j, err)
	}
	return req, nil
}

// isJSON reports whether a text may be JSON, which is read ten times as fast as
// YAML. What is wrong with it is found as in YAML.
func isJSON(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
}

// position is where in its JSON protojson met what it does not take, and why.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(line 1:(\d+)\): (.*)$`) })

// misfit says which field of the document does not fit. The JSON made of it is
// one line.
func misfit(doc manifest.Document, j []byte, err error) error {
	m := position().FindStringSubmatch(err.Error())
	if m == nil {
		_, text, _ := strings.Cut(err.Error(), ":")
		return &manifest.Error{Path: doc.Path, Line: doc.Line, Err: errors.New(strings.Trim(text, " \u00a0"))}
	}
	column, _ := strconv.Atoi(m[1])
	field := fieldAt(j, offset(j, column))
	text := m[2]
	if field != "" {
		text = fmt.Sprintf("%s: %s", field, text)
	}
	return &manifest.Error{Path: doc.Path, Line: doc.Lines().Of(field), Err: errors.New(text)}
}

// offset returns where a column, in characters from 1, begins.
func offset(line []byte, column int) int {
	at := 0
	for ; column > 1 && at < len(line); column-- {
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	return at
}

// fieldAt names the field that a JSON text has at an offset, as in
// "desired.resources.a" or "results[0]".
func fieldAt(text []byte, offset int) string {
	field, _ := search(json.NewDecoder(bytes.NewReader(text)), int64(offset), "")
	return field
}

// search reads the value of a field, and returns the field in it that has the
// offset, if any.
func search(dec *json.Decoder, offset int64, field string) (found string, ok bool) {
	token, err := dec.Token()
	if err != nil || dec.InputOffset() > offset {
		return field, true
	}
	if token != json.Delim('{') && token != json.Delim('[') {
		return "", false
	}
	for i := 0; dec.More(); i++ {
		inner := fmt.Sprintf("%s[%d]", field, i)
		if token == json.Delim('{') {
			key, err := dec.Token()
			inner = strings.TrimPrefix(fmt.Sprintf("%s.%v", field, key), ".")
			if err != nil || dec.InputOffset() > offset {
				return inner, true
			}
		}
		if found, ok := search(dec, offset, inner); ok {
			return found, true
		}
	}
	_, err = dec.Token() // the end of the object or list
	return "", err != nil
}
