package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// A shop has a field of each type.
type shop struct {
	Name   string             `json:"name" required:"" doc:"Its name."`
	Open   *bool              `json:"open"`
	Size   int                `json:"size" min:"1"`
	Level  level              `json:"level"`
	Colour string             `json:"colour" enum:"red,blue"`
	Any    any                `json:"any"`
	Labels map[string]string  `json:"labels"`
	Free   map[string]any     `json:"free"`
	Items  []item             `json:"items" single:""`
	Table  map[string]item    `json:"table"`
	Null   *manifest.Value    `json:"null"`
	Own    map[string]wrapped `json:"own"`
	Counts map[string]int     `json:"counts" min:"0"`
	Hidden string             `json:"-"`
}

// An item is a string, an object with fields, or any Kubernetes object.
type item struct {
	Text  string         `json:"text" short:""`
	Cost  int            `json:"cost"`
	Whole map[string]any `whole:"apiVersion,kind"`
}

// A wrapped is a number or any object.
type wrapped struct {
	Number int            `short:""`
	Object map[string]any `whole:""`
}

type level int

func (l *level) UnmarshalText(text []byte) error {
	switch string(text) {
	case "low", "1", "true":
		*l = 1
		return nil
	}
	return errors.New("expected low")
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var v any
	e2e.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

func TestDecode(t *testing.T) {
	yes := true
	cases := map[string]struct {
		reason, from string
		want         shop
		faults       []string
	}{
		"All": {
			"each type of field accepts its values",
			`{"name": "a", "open": true, "size": 3, "level": "low", "colour": "red", "any": [1], "labels": {"k": "v"}, "free": {"x": null}}`,
			shop{Name: "a", Open: &yes, Size: 3, Level: 1, Colour: "red", Any: []any{1.0}, Labels: map[string]string{"k": "v"}, Free: map[string]any{"x": nil}},
			nil,
		},
		"Forms": {
			"a struct has several forms, and a single element is a list",
			`{"name": "a", "items": {"cost": 2}, "table": {"t": "text", "k": {"kind": "K", "z": 1}}, "own": {"n": 4, "o": {"any": 1}}}`,
			shop{
				Name: "a", Items: []item{{Cost: 2}}, Table: map[string]item{"t": {Text: "text"}, "k": {Whole: map[string]any{"kind": "K", "z": 1.0}}},
				Own: map[string]wrapped{"n": {Number: 4}, "o": {Object: map[string]any{"any": 1.0}}},
			},
			nil,
		},
		"Texts":    {"a TextUnmarshaler accepts other scalars as text", `{"name": "a", "level": true}`, shop{Name: "a", Level: 1}, nil},
		"Null":     {"a *Value distinguishes null from a missing field", `{"name": "a", "null": null, "open": null, "any": null}`, shop{Name: "a", Null: &manifest.Value{}}, nil},
		"Required": {"a missing required field is an error", `{}`, shop{}, []string{"name is missing"}},
		"Unknown":  {"an unknown field is an error with similar or all names", `{"name": "a", "colr": 1, "zzzzzzzz": 1, "Hidden": ""}`, shop{Name: "a"}, []string{"Hidden: there is no such field, only name, open, size, level, colour, any, labels, free, items, table, null, own, counts", "colr: there is no such field: is it colour?", "zzzzzzzz: there is no such field, only name, open, size, level, colour, any, labels, free, items, table, null, own, counts"}},
		"Types": {
			"every invalid value is reported with its path",
			`{"name": 1, "open": "yes", "size": 1.5, "level": [], "colour": "green", "labels": {"k": 1}, "items": [{"cost": "x"}, {"text": {}}], "table": {"t": {"cots": 1}}, "free": []}`,
			shop{Colour: "green", Open: new(bool), Labels: map[string]string{"k": ""}, Items: []item{{}, {}}, Table: map[string]item{"t": {}}},
			[]string{
				`colour: expected red or blue, got "green"`,
				"free: expected an object, got a list",
				"items[0].cost: expected a whole number, got a string",
				"items[1].text: expected a string, got an object",
				"labels.k: expected a string, got 1: put it in quotes",
				"level: expected a string, got a list",
				"name: expected a string, got 1: put it in quotes",
				"open: expected true or false, got a string",
				"size: expected a whole number, got 1.5",
				"table.t.cots: there is no such field: is it cost?",
			},
		},
		"Least":  {"a number has a least value, and so have the numbers of an object", `{"name": "a", "size": 0, "counts": {"x": 0, "y": -1}}`, shop{Name: "a", Counts: map[string]int{"x": 0, "y": -1}}, []string{"counts.y: expected at least 0, got -1", "size: expected at least 1, got 0"}},
		"Enum":   {"an empty string must be in the enum", `{"name": "a", "colour": ""}`, shop{Name: "a"}, []string{`colour: expected red or blue, got ""`}},
		"Scalar": {"a number is not an object", `3`, shop{}, []string{"expected an object, got a number"}},
		"Text":   {"a TextUnmarshaler returns the error", `{"name": "a", "level": "high"}`, shop{Name: "a"}, []string{"level: expected low"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got shop
			var faults []string
			for _, f := range manifest.DecodeStrict(parse(t, tc.from), &got) {
				faults = append(faults, f.Error())
			}
			e2e.Equal(t, tc.reason, tc.faults, faults)
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

// A lenient decoder reads nulls and strings without quotes as sigs.k8s.io/yaml does.
func TestDecodeLenient(t *testing.T) {
	got := shop{}
	var faults []string
	for _, f := range manifest.DecodeLenient(parse(t, `{"name": 1234567.5, "labels": {"a": null, "b": true, "c": 7}, "items": [null], "size": null, "open": "yes"}`), &got) {
		faults = append(faults, fmt.Sprint(f.Decoded, " ", f.Error()))
	}
	e2e.Equal(t, "unquoted strings are decoded, and other types are faults", []string{
		`true labels.b: expected a string, got a boolean, which is read as "true": put it in quotes`,
		`true labels.c: expected a string, got 7, which is read as "7": put it in quotes`,
		`true name: expected a string, got 1.2345675e+06, which is read as "1.2345675e+06": put it in quotes`,
		`false open: expected true or false, got a string`,
	}, faults)
	e2e.Equal(t, "numbers become strings, and a null is the zero value", shop{Name: "1.2345675e+06", Labels: map[string]string{"a": "", "b": "true", "c": "7"}, Items: []item{{}}, Open: new(bool)}, got)
}

// TestSchema checks that the schema describes what DecodeStrict accepts.
func TestSchema(t *testing.T) {
	got := e2e.Must(json.Marshal(manifest.JSONSchema(reflect.TypeFor[shop]())))(t)
	item := `{"anyOf": [
		{"type": "string"},
		{"allOf": [{"type": "object", "additionalProperties": {}}, {"anyOf": [{"type": "object", "required": ["apiVersion"]}, {"type": "object", "required": ["kind"]}]}]},
		{"type": "object", "additionalProperties": false, "properties": {"text": {"type": "string"}, "cost": {"type": "integer"}}}]}`
	want := `{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$ref": "#/$defs/shop",
		"$defs": {
			"item": ` + item + `,
			"wrapped": {"anyOf": [{"type": "integer"}, {"type": "object", "additionalProperties": {}}]},
			"shop": {"type": "object", "additionalProperties": false, "required": ["name"], "properties": {
				"name": {"type": "string", "description": "Its name."},
				"open": {"type": "boolean"},
				"size": {"type": "integer", "minimum": 1},
				"counts": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
				"level": {"type": "string"},
				"colour": {"type": "string", "enum": ["red", "blue"]},
				"any": {},
				"labels": {"type": "object", "additionalProperties": {"type": "string"}},
				"free": {"type": "object", "additionalProperties": {}},
				"items": {"anyOf": [{"$ref": "#/$defs/item"}, {"type": "array", "items": {"$ref": "#/$defs/item"}}]},
				"table": {"type": "object", "additionalProperties": {"$ref": "#/$defs/item"}},
				"null": {},
				"own": {"type": "object", "additionalProperties": {"$ref": "#/$defs/wrapped"}}
			}}
		}
	}`
	e2e.Equal(t, "the schema describes what DecodeStrict accepts", parse(t, want), parse(t, string(got)))
}
