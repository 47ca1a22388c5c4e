package e2e

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
)

// CheckSARIF returns an error unless report is valid SARIF 2.1.0. root is the path of the
// root of this repository.
//
// sarif-schema-2.1.0.json is the schema of the OASIS Standard with Approved Errata 01,
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json,
// copyright OASIS Open, which may be part of implementations. The text is a copy from the Go
// module github.com/owenrumney/go-sarif/v3 v3.3.1.
func CheckSARIF(root string, report []byte) error {
	text, err := os.ReadFile(root + "/internal/report/testdata/sarif-schema-2.1.0.json")
	if err != nil {
		return err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("reading the schema of SARIF: %w", err)
	}
	// The library knows draft 7 and not draft 4, which has "id" instead of "$id". The schema uses
	// only keywords that both drafts define alike.
	s.Schema = "http://json-schema.org/draft-07/schema#"
	schema, err := s.Resolve(nil)
	if err != nil {
		return fmt.Errorf("reading the schema of SARIF: %w", err)
	}
	var log any
	if err := json.Unmarshal(report, &log); err != nil {
		return err
	}
	return schema.Validate(log)
}
