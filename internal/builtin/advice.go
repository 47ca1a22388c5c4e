package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
)

// isBadInput reports whether a fatal result is about an input that the function cannot decode.
func isBadInput(fatal string) bool {
	return strings.HasPrefix(fatal, "cannot get Function input") || strings.HasPrefix(fatal, "cannot get filters from")
}

// Advice returns a hint for a fatal result of b with the message fatal for an input, which is
// in JSON. If the message says that the input cannot be decoded, the input may be for a
// version that b does not replace. If templates cannot be read, they may be in a folder that
// b does not read. For an unknown field, value, key of a map or patch set, Advice suggests a similar one, or lists the
// known ones. For a missing field and a value of another type than an object, it names what is
// expected. For other messages, Advice returns "".
func (b Builtin) Advice(fatal string, input []byte) hint.Hint {
	if next := cmp.Or(spec.Advice(fatal), patch.Advice(fatal), gotemplating.Advice(fatal, input), patchandtransform.Advice(fatal, input)); next != "" {
		return hint.Hint(next)
	}
	if folder, ok := strings.CutPrefix(fatal, "invalid function input: cannot read tmpl from the folder {"); ok && !strings.HasSuffix(fatal, ": permission denied") {
		if folder, _, _ = strings.Cut(folder, "}"); path.IsAbs(folder) {
			return hint.Hint(fmt.Sprintf("name the folder that the function has at this path with %s %s=DIR", hint.Templates, folder))
		}
		return hint.Hint(fmt.Sprintf("the builtin %s reads templates only below the working directory and the folders of %s", b.Name, hint.Templates))
	}
	if field, text := dummyFault(fatal, input); text != "" {
		return hint.Hint(field + " " + text)
	}
	if !isBadInput(fatal) {
		return nextFor(fatal)
	}
	if other := otherFunction(b, input); other != "" {
		return hint.Hint("the input belongs to " + other + ", and the step calls " + b.Name + ": correct functionRef.name, or the input")
	}
	field, meant, named := "the fields of the input", "", ""
	if unknown := b.unknownField(fatal, input); unknown != "" {
		field = unknown
		near := schema.NearestField(b.Type, field)
		if near != "" && (field == near || strings.HasSuffix(field, "."+near)) {
			return hint.Hint(fmt.Sprintf("remove %s, or name another version of %s, because not all versions have this field", field, b.Name))
		}
		if near != "" {
			meant = "did you mean " + near + "? Otherwise "
		} else if names, maps := schema.FieldNames(b.Type, field); len(names) > 0 {
			named = ", where the fields are " + strings.Join(names, ", ")
			for _, name := range maps {
				named += ", and other names belong in " + name
			}
		}
	}
	return hint.Hint(fmt.Sprintf("%scheck %s: the builtin %s has the input of versions %s%s; for another version, give its package with %s NAME=PATH", meant, field, b.Name, b.Versions(), named, hint.Package))
}

// otherFunction returns the name of the builtin, other than b, whose input has the apiVersion
// and kind of input, which is in JSON. It returns "" if there is no such builtin.
func otherFunction(b Builtin, input []byte) string {
	var meta sdk.Meta
	if json.Unmarshal(input, &meta) != nil {
		return ""
	}
	for _, other := range All() {
		if other.GroupVersionKind == kschema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind) && other.GroupVersionKind != b.GroupVersionKind {
			return other.Name
		}
	}
	return ""
}

// required are hints for results about a missing field of function-go-templating, or of a label by
// which a function selects resources.
var required = map[string]hint.Hint{
	"source is required": "add source: Inline, with the template in inline.template; or source: FileSystem or Environment",
	"inline.template or inline.templates should be provided":             "add the template in inline.template",
	"Value cannot be nil for type 'Value'":                               "add value; or write type: FromCompositeFieldPath, which reads valueFromFieldPath",
	"ValueFromFieldPath cannot be nil for type 'FromCompositeFieldPath'": "add valueFromFieldPath; or write type: Value, which reads value",
	"environment.key should be provided":                                 "add environment.key: the key of the environment that has the template",
	"fileSystem.dirPath should be provided":                              "add fileSystem.dirPath: the folder of the templates",
}

// misfit and annotation match results about a value of another type than an object, and about
// annotations that are not strings.
var (
	misfit     = proc.Regexp(`cannot unmarshal (\w+) into Go value of type map\[`)
	annotation = proc.Regexp(`\.metadata\.(annotations|labels) accessor error`)
)

// nextFor returns the hint for a fatal result about an unknown variable, about a missing field of the
// input, or about the type of a value in a base or in the output of a template, or "".
func nextFor(fatal string) hint.Hint {
	if strings.HasSuffix(fatal, ": a combine strategy must be provided") {
		return "add strategy: string, beside variables and string"
	}
	if strings.HasPrefix(fatal, "cannot evaluate CEL expression ") && strings.Contains(fatal, ": undeclared reference to '") {
		return "the variables are context, desired and observed: the composite resource is observed.composite.resource"
	}
	what, isBase := "each document that the template writes", strings.HasPrefix(fatal, "cannot parse base template")
	if isBase {
		what = "the base"
	}
	if !isBase && !strings.HasPrefix(fatal, "cannot decode manifest") && !annotation().MatchString(fatal) {
		if strings.Contains(fatal, "requirements: cannot get value from field path ") {
			return "set the field in the composite resource; or correct its path; or add fromFieldPathPolicy: Optional"
		}
		_, problem, _ := strings.Cut(fatal, ": ")
		return required[problem]
	}
	if m := misfit().FindStringSubmatch(fatal); m != nil {
		got := cmp.Or(map[string]string{"array": "a list", "bool": "a boolean"}[m[1]], "a "+m[1])
		return hint.Hint(what + " must be an object with apiVersion and kind, not " + got)
	}
	if m := annotation().FindStringSubmatch(fatal); m != nil {
		return hint.Hint("metadata." + m[1] + " must be an object whose values are strings: put numbers and booleans in quotes")
	}
	if strings.Contains(fatal, "Object 'Kind' is missing in ") {
		return hint.Hint(what + " must have a kind, which is a string")
	}
	return ""
}

// unknownField returns the path of the unknown field that a fatal result names, or "". The
// messages of the real functions have only the field's name, so the path is looked up in
// the input.
func (b Builtin) unknownField(fatal string, input []byte) string {
	if _, text, ok := strings.Cut(fatal, `unknown field "`); ok {
		path, _, _ := strings.Cut(text, `"`)
		return path
	}
	_, text, ok := strings.Cut(fatal, `unknown name "`)
	if !ok {
		_, text, ok = strings.Cut(fatal, `unknown object member name "`)
	}
	if !ok {
		return ""
	}
	name := strings.TrimSuffix(text, `"`)
	for _, path := range sdk.UnknownFields(input, b.Type) {
		if path == name || strings.HasSuffix(path, "."+name) {
			return path
		}
	}
	// The builtin may have the field, and the version of the package may not.
	return cmp.Or(sdk.FieldNamed(input, name), name)
}
