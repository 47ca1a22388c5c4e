package builtin

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/builtin/gotemplating"
	"github.com/xfn-dev/xfn/internal/builtin/patchandtransform"
	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/spec"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/schema"
)

// A Builtin is a composition function that is part of this binary.
type Builtin struct {
	// Name is the last element of the real function's repository, such as
	// function-auto-ready.
	Name string
	// Measured is the version of the real function with which tests compare the builtin.
	Measured string
	// From and Below are the range of versions of the real function that the
	// builtin replaces. From is the first version in the range. Below is the
	// first version after the range.
	From, Below string
	// LastExtra is the last version of the real function that works with Crossplane before v2,
	// because it requires resources in the field extra_resources. It is "" if all versions work.
	LastExtra string
	// Input describes the input of the function, without the name of the function.
	composition.Input
	// Covered describes the supported input, and Differs the differences from the
	// real function. Both are in Markdown.
	Covered, Differs string
	// ReadsFiles is true if a response depends on files, and not only on the request.
	ReadsFiles bool
	// Settings are the settings of the real function's process that change its responses.
	Settings []Setting
	// New returns the function without the settings in Options, which Configured adds. The
	// function caches compiled inputs.
	New func(Options) function.Runner

	// locate returns the path of the field in an input, in JSON, to which a fatal result
	// refers, and the line in its text, or "". It may be nil.
	locate func(fatal string, input []byte) (field string, line int)
}

// Options configure builtins.
type Options struct {
	// GoTemplating are options of function-go-templating. Configured sets its Settings, and New its
	// Version and Progress.
	GoTemplating gotemplating.Options
	// Package is the function package that the builtin replaces, or "". A builtin
	// behaves like the version in its tag where versions differ.
	Package string
	// Settings are the user's settings of builtins. They take precedence over Annotated,
	// the settings in the annotations of the Function. Annotated may name folders only
	// below the working directory and GoTemplating.Templates.
	Settings, Annotated Settings
	// Progress receives warnings about parts of an input with an unexpected effect.
	Progress progress.Func

	// autoReady is set by Configured.
	autoReady AutoReadyOptions
}

// since reports whether o.Package has a version of the real function that is v or later. A package
// without a version has the version newest.
func (o Options) since(newest, v string) bool { return sdk.Since(version(o.Package), newest, v) }

// All returns all builtins, sorted by name. The caller must not change them.
func All() []Builtin { return all() }

var all = sync.OnceValue(func() []Builtin {
	return []Builtin{
		autoReady(),
		celFilter(),
		dummy(),
		environmentConfigs(),
		extraResourcesBuiltin(),
		goTemplating(),
		patchAndTransform(),
		sequencer(),
		statusTransformer(),
		tagManager(),
	}
})

func goTemplating() Builtin {
	return Builtin{
		Name: "function-go-templating", Measured: "v0.12.2", From: "v0.12.0", Below: "v0.13.0",
		Input: inputOf[gotemplating.GoTemplate]("gotemplating.fn.crossplane.io/v1beta1 GoTemplate", composition.Input{}), ReadsFiles: true,
		Covered:  "`source` `Inline`, `FileSystem` and `Environment`; `delims`, `options`; every meta kind and annotation; all template functions of the real function and Sprig v3.3.0. With the tag `main` or from v0.13.0-0 also what no release has: the field `ttl`, the annotation `gotemplating.fn.crossplane.io/ttl`, and the template function `getComposedConnectionDetails`.",
		Differs:  "Templates are read only below the working directory and the folders that the user names for templates. Output (64 MiB), the result of one call (256 MiB) and recursion are limited, the timeout of the render applies, and the memory limit of the process bounds the memory. The local time is UTC, as in the function's image. `getHostByName` fails, because a builtin has no network.",
		Settings: goTemplatingSettings(),
		New: func(o Options) function.Runner {
			o.GoTemplating.Version, o.GoTemplating.Progress = version(o.Package), o.Progress
			return gotemplating.New(o.GoTemplating)
		},
	}
}

func patchAndTransform() Builtin {
	const measured = "v0.10.8"
	return Builtin{
		Name: "function-patch-and-transform", Measured: measured, From: "v0.8.0", Below: "v0.11.0",
		Input: inputOf[spec.Resources]("pt.fn.crossplane.io/v1beta1 Resources", composition.Input{
			Values: map[string][]string{"resources[].readinessChecks[].matchCondition.status": sdk.ConditionStatuses()},
		}),
		Covered: "`patchSets`; `environment`; `resources` with all nine types of patches and `PatchSet`, `combine`, `policy`, every transform (`map`, `match`, `math`, `string`, `convert`), `connectionDetails`, `readinessChecks`, and templates without `base`; `writeConnectionSecretToRef` with `patches`. Before v0.10.0, `writeConnectionSecretToRef` is an unknown field, and no connection secret is composed.",
		Differs: "Four inputs that crash the real function are fatal results. Texts (16 MiB each, 256 MiB in all), regular expressions (16 KiB), the digits of quantities (1024), and the nulls with which patches extend lists up to an index (1,048,576 for a composite resource) are limited.",
		New: func(o Options) function.Runner {
			return patchandtransform.New(o.Progress, o.since(measured, "v0.10.0-0"))
		},
		locate: firstLine(patchandtransform.Locate),
	}
}

// firstLine returns a locate for a func that returns only the path of the field.
func firstLine(locate func(fatal string, input []byte) string) func(string, []byte) (string, int) {
	return func(fatal string, input []byte) (string, int) { return locate(fatal, input), 1 }
}

// inputOf returns the input of an apiVersion and kind, separated by a space, that T decodes. more has
// its other properties.
func inputOf[T any](kind string, more composition.Input) composition.Input {
	apiVersion, name, _ := strings.Cut(kind, " ")
	more.GroupVersionKind, more.Type = kschema.FromAPIVersionAndKind(apiVersion, name), reflect.TypeFor[T]()
	return more
}

// Inputs returns the inputs of all builtins. The caller must not change them.
func Inputs() composition.Inputs { return inputs() }

var inputs = sync.OnceValue(func() composition.Inputs {
	var all composition.Inputs
	for _, b := range All() {
		b.Function = b.Name
		all = append(all, b.Input)
	}
	return slices.Clip(all) // callers append to it
})

// CheckVersion returns an error if b does not replace the version of pkg, or if
// the tag of pkg is not a version. A package without a tag is valid.
func (b Builtin) CheckVersion(pkg string) error {
	tag, v := tag(pkg), version(pkg)
	switch {
	case tag == "", semver.IsValid(v) && semver.Compare(v, b.From) >= 0 && semver.Compare(v, b.Below) < 0:
		return nil
	case semver.IsValid(v):
		return fmt.Errorf("the builtin %s replaces versions %s, not %s", b.Name, b.Versions(), tag)
	default:
		return fmt.Errorf("the builtin %s replaces versions %s, but the tag %q is not a version", b.Name, b.Versions(), tag)
	}
}

// tag returns the tag of a package, or "".
func tag(pkg string) string {
	last, _, _ := strings.Cut(path.Base(pkg), "@")
	_, tag, _ := strings.Cut(last, ":")
	return tag
}

// version returns the tag of a package, such as 0.12.2 or v0.12.2, with one leading v, and a tag that
// is not a version unchanged.
func version(pkg string) string {
	tag := tag(pkg)
	if v := "v" + strings.TrimPrefix(tag, "v"); semver.IsValid(v) {
		return v
	}
	return tag
}

// Versions returns the range of versions that b replaces, for messages.
func (b Builtin) Versions() string { return b.From + " to below " + b.Below }

// Locate returns the place to which a fatal result of b, or of the function that b replaces,
// refers. The input is in JSON. r is the builtin that returned the result, or nil if another
// function did. Locate returns the zero value if it finds no place.
func (b Builtin) Locate(ctx context.Context, fatal string, input []byte, r function.Runner) sdk.Location {
	if r == nil {
		r = b.New(Options{})
	}
	locator, ok := r.(sdk.Locator)
	switch {
	case isBadInput(fatal):
		return sdk.Location{Field: b.unknownField(fatal, input), Line: 1}
	case ok:
		return locator.Locate(ctx, fatal, input)
	case b.locate != nil:
		field, line := b.locate(fatal, input)
		return sdk.Location{Field: field, Line: line}
	default:
		return sdk.Location{}
	}
}

// Find returns the builtin with a name. The prefix "function-" of the name is
// optional. If there is no such builtin, the error lists all builtins.
func Find(name string) (Builtin, error) {
	var names, short []string
	for _, b := range All() {
		if name == b.Name || name == b.shortName() {
			return b, nil
		}
		names, short = append(names, b.Name), append(short, b.shortName())
	}
	err := fmt.Errorf("there is no builtin %q: the builtins are %s", name, strings.Join(names, ", "))
	return Builtin{}, hint.Wrap(err, hint.Meant("", hint.Nearest(strings.TrimPrefix(name, "function-"), short)))
}

// Named returns the builtin with exactly this name, and whether it exists.
func Named(name string) (Builtin, bool) {
	for _, b := range All() {
		if b.Name == name {
			return b, true
		}
	}
	return Builtin{}, false
}

// Schema returns the structural schema of the input.
func (b Builtin) Schema() map[string]any {
	s := schema.OfType(b.Type)
	properties, _ := s["properties"].(map[string]any)
	for _, name := range []string{"apiVersion", "kind"} {
		properties[name] = map[string]any{"type": "string"}
	}
	properties["metadata"] = map[string]any{"type": "object"}
	return s
}

// CRD returns the CustomResourceDefinition of the input, as in the package of the real function.
func (b Builtin) CRD() map[string]any {
	singular := strings.ToLower(b.Kind)
	plural := strings.TrimSuffix(singular, "s") + "s"
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + b.Group},
		"spec": map[string]any{
			"group": b.Group, "scope": "Namespaced",
			"names": map[string]any{
				"kind": b.Kind, "listKind": b.Kind + "List", "plural": plural, "singular": singular, "categories": []any{"crossplane"},
			},
			"versions": []any{map[string]any{
				"name": b.Version, "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": b.Schema()},
			}},
		},
	}
}
