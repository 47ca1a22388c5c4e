package function

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// readRequest reads a request in YAML or JSON. An unknown field is an error.
func readRequest(ctx context.Context, r manifest.Reader, path string) (*fnv1.RunFunctionRequest, error) {
	doc, more, err := r.First(ctx, path)
	if err != nil {
		return nil, err
	}
	if more {
		return nil, &manifest.Error{Path: path, Err: errors.New("it contains several documents, expected one request")}
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
		var other struct{ APIVersion, Kind string }
		if json.Unmarshal(j, &other) == nil && other.APIVersion != "" && other.Kind != "" {
			err := fmt.Errorf("expected a RunFunctionRequest, got %s of %s", other.Kind, other.APIVersion)
			return nil, hint.Wrap(&manifest.Error{Path: doc.Path, Line: doc.FirstLine(), Err: err},
				"a request has the fields observed, desired, input and context; it has no apiVersion and no kind; an XR belongs in observed.composite.resource")
		}
		return nil, fieldError(doc, j, err)
	}
	return req, nil
}

// isJSON reports whether a text may be JSON, which is decoded ten times as fast as YAML.
// Text that is not valid JSON is decoded as YAML, which reports the error.
func isJSON(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
}

// fieldError converts an error of protojson about j, one line of JSON, to an error that
// names the field and the line of the document. protojson reports a column, in
// characters from 1: "proto: (line 1:7): unknown field".
func fieldError(doc manifest.Document, j []byte, err error) error {
	_, place, _ := strings.Cut(err.Error(), "(line 1:")
	number, text, _ := strings.Cut(place, "): ")
	column, numberErr := strconv.Atoi(number)
	if numberErr != nil {
		_, text, _ = strings.Cut(err.Error(), ":")
		return &manifest.Error{Path: doc.Path, Line: doc.Line, Err: errors.New(strings.Trim(text, " \u00a0"))}
	}
	line := []rune(string(j))
	offset := len(string(line[:min(max(column-1, 0), len(line))]))
	field, _ := search(json.NewDecoder(bytes.NewReader(j)), int64(offset), "")
	if field != "" {
		text = fmt.Sprintf("%s: %s", field, text)
	}
	return doc.ErrorOf(field, errors.New(text))
}

// search reads one JSON value from dec, whose path is field. It returns the path of the
// innermost field at the byte offset of the input, such as "desired.resources.a" or
// "results[0]". ok is false if the value ends before offset.
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
	_, err = dec.Token() // Read the end of the object or list.
	return "", err != nil
}
