package sariftest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed testdata/sarif-schema-2.1.0.json
var text []byte

var schema = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	// The library knows draft 7 and not draft 4, which has "id" instead of "$id". The schema uses
	// only keywords that both drafts define alike.
	s.Schema = "http://json-schema.org/draft-07/schema#"
	return s.Resolve(nil)
})

// Check returns an error unless report is valid SARIF 2.1.0.
func Check(report []byte) error {
	s, err := schema()
	if err != nil {
		return fmt.Errorf("reading the schema of SARIF: %w", err)
	}
	var log any
	if err := json.Unmarshal(report, &log); err != nil {
		return err
	}
	return s.Validate(log)
}
