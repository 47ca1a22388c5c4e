package docs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// suitePage describes the suite format by its JSON Schema, which comes from the
// Go types. Each definition of the schema is a section.
func suitePage() string {
	schema := spec.Schema()
	defs := schema["$defs"].(map[string]any)
	var b strings.Builder
	b.WriteString(generated + `# Suites

A suite is a YAML file that tells ` + "`xfn test`" + ` which composite resources to render and what to expect. ` +
		"`xfn test --schema`" + ` prints this format as a JSON Schema for editors. Paths in a suite are relative to its file. [Test Compositions](../how-to/test.md) shows how to use suites.

`)
	for i, name := range inOrder(schema["$ref"], defs) {
		title := name
		if i == 0 {
			title = spec.Kind
		}
		fmt.Fprintf(&b, "## %s\n\n", title)
		forms, object := split(defs[name].(map[string]any))
		if len(forms) > 0 {
			fmt.Fprintf(&b, "Short forms:\n\n- %s\n\n", strings.Join(forms, "\n- "))
		}
		properties, _ := object["properties"].(map[string]any)
		required, _ := object["required"].([]any)
		var rows [][]string
		for _, key := range slices.Sorted(maps.Keys(properties)) {
			p := properties[key].(map[string]any)
			text, _ := p["description"].(string)
			if slices.Contains(required, any(key)) {
				text = strings.TrimSpace(text + " Required.")
			}
			rows = append(rows, []string{"`" + key + "`", typeOf(p), text})
		}
		table(&b, rows, "field", "type", "meaning")
	}
	return b.String()
}

// inOrder returns the names of the definitions that a schema refers to, directly or
// through other definitions, in breadth-first order.
func inOrder(schema any, defs map[string]any) []string {
	var names []string
	queue := []any{map[string]any{"$ref": schema}}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		switch next := next.(type) {
		case []any:
			queue = append(queue, next...)
		case map[string]any:
			if name, ok := refName(next); ok && !slices.Contains(names, name) {
				names = append(names, name)
				queue = append(queue, defs[name])
			}
			for _, key := range slices.Sorted(maps.Keys(next)) {
				queue = append(queue, next[key])
			}
		}
	}
	return names
}

func refName(schema map[string]any) (string, bool) {
	ref, _ := schema["$ref"].(string)
	return strings.CutPrefix(ref, "#/$defs/")
}

// split separates a definition with alternatives (anyOf) into the schema of the
// alternative that is an object, and descriptions of the other alternatives.
func split(def map[string]any) (forms []string, object map[string]any) {
	if def["anyOf"] == nil {
		return nil, def
	}
	for _, form := range list(def["anyOf"]) {
		if form["properties"] != nil {
			object = form
			continue
		}
		text := typeOf(form)
		if doc := description(form); doc != "" {
			text += ": " + doc
		}
		forms = append(forms, text)
	}
	return forms, object
}

// description returns the description of a schema. If the schema has no description,
// description returns the first description of a schema in allOf.
func description(schema map[string]any) string {
	if text, ok := schema["description"].(string); ok {
		return text
	}
	for _, part := range list(schema["allOf"]) {
		if text := description(part); text != "" {
			return text
		}
	}
	return ""
}

func list(v any) (all []map[string]any) {
	parts, _ := v.([]any)
	for _, p := range parts {
		if m, ok := p.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// typeOf names the type of a schema in words, with links to definitions.
func typeOf(schema map[string]any) string {
	if name, ok := refName(schema); ok {
		return link(name, "#"+anchor(name))
	}
	if values, ok := schema["enum"].([]any); ok {
		text := ""
		for _, v := range values {
			if s, ok := v.(string); ok {
				text += ", `" + s + "`"
			}
		}
		return strings.TrimPrefix(text, ", ")
	}
	if either := list(schema["anyOf"]); len(either) == 2 {
		return typeOf(either[0]) + " or " + typeOf(either[1])
	}
	if all := list(schema["allOf"]); len(all) > 0 {
		return typeOf(all[0])
	}
	items, _ := schema["items"].(map[string]any)
	values, _ := schema["additionalProperties"].(map[string]any)
	switch schema["type"] {
	case "array":
		return "list of " + typeOf(items)
	case "object":
		if len(values) > 0 {
			return "map of " + typeOf(values)
		}
		return "object"
	case nil:
		return "any value"
	default:
		return fmt.Sprint(schema["type"])
	}
}
