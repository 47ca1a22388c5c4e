package hint_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

func TestJSONError(t *testing.T) {
	var into struct {
		Layers []struct {
			MediaType string `json:"mediaType"`
		}
	}
	for text, want := range map[string]string{
		`[]`:                             "it must not be a JSON array",
		`{"layers": {}}`:                 "layers must not be a JSON object",
		`{"layers": [{"mediaType": 3}]}`: "layers.mediaType must not be a JSON number",
		`{`:                              "unexpected end of JSON input",
	} {
		e2e.Equal(t, text+" has an error in terms of JSON", want, hint.JSONError(json.Unmarshal([]byte(text), &into)).Error())
	}
	other := errors.New("other")
	if got := hint.JSONError(other); got != other {
		t.Errorf("another error: got %v", got)
	}
}
