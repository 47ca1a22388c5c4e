package validate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/composition/legacy"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema"
)

// ConvertCmd is the group xfn convert.
type ConvertCmd struct {
	PipelineComposition    PipelineCmd    `cmd:"" help:"Convert a legacy Composition to a pipeline."`
	CompositionEnvironment EnvironmentCmd `cmd:"" help:"Replace the environment of a Composition by a step of its pipeline."`
}

type convertFiles struct {
	InputFile  string `arg:"" name:"file" optional:"" default:"-" help:"File with the Composition, or - for stdin, the default. Other documents of the file are not changed."`
	OutputFile string `short:"o" empty:"" placeholder:"FILE" help:"File to write, or - for stdout, the default."`
}

type conversion struct {
	// what describes the objects for which applies returns true.
	what    string
	applies func(obj map[string]any) bool
	convert func(obj map[string]any) (map[string]any, []legacy.Note, error)
	// check, if not nil, returns the errors that prevent the conversion of an object.
	check func(ctx context.Context, doc manifest.Document) error
	// pipeline says why a pipeline is not converted, and resources why another Composition is not.
	pipeline, resources string
	// lenient is true if an input that has only such pipelines is not an error.
	lenient bool
}

func (c *convertFiles) run(ctx context.Context, term *terminal.Terminal, by conversion) error {
	docs, err := manifest.Reader{FS: afero.NewOsFs(), Stdin: term.Stdin, Warn: term.WarnOnce()}.All(ctx, c.InputFile)
	if err != nil {
		return err
	}
	out, err := proc.Await(ctx, func() ([]byte, error) { return c.convert(ctx, docs, term, by) })
	if err != nil || out == nil {
		return err
	}
	if c.OutputFile != "" && c.OutputFile != manifest.Stdin {
		return fsx.WriteFile(c.OutputFile, 0o644, out)
	}
	return term.Printf("%s", out)
}

// unlisted replaces each v1 List, as kubectl prints one, by its items. The line numbers
// of an item count from the start of the item.
func unlisted(docs []manifest.Document) ([]manifest.Document, error) {
	var all []manifest.Document
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			return nil, err
		}
		items, isList := obj["items"].([]any)
		if !isList || obj["kind"] != "List" {
			all = append(all, doc)
			continue
		}
		for i, item := range items {
			text, err := yaml.Marshal(item)
			if err != nil {
				return nil, fmt.Errorf("%s: encoding items[%d]: %w", doc.Position(), i, err)
			}
			some, err := manifest.Split(fmt.Sprintf("%s, items[%d]", doc.Path, i), text)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// convert returns the documents with all Compositions converted. If no object can be converted,
// it returns an error. If the conversion is lenient and all objects are current pipelines, it
// prints a note and returns nil.
func (c *convertFiles) convert(ctx context.Context, docs []manifest.Document, term *terminal.Terminal, by conversion) ([]byte, error) {
	for _, doc := range docs {
		_, broken := doc.Object() // unlisted returns this error.
		if _, err := doc.StrictJSON(); err != nil && broken == nil {
			term.Warn(err.Error() + "; the last one is used")
		}
	}
	docs, err := unlisted(docs)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	var others []error
	current := by.lenient
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		if by.applies(obj) {
			if err := convertOne(&out, doc, obj, term, by); err != nil {
				return nil, err
			}
			if by.check != nil {
				err = by.check(ctx, doc)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		notThis := &manifest.Error{Path: doc.Path, Line: doc.Line, Err: by.refuse(obj)}
		u := &unstructured.Unstructured{Object: obj}
		others = append(others, schema.SuggestKind(notThis, u.GetAPIVersion(), u.GetKind()))
		current = current && isPipeline(obj)
		out.Write(bytes.TrimSuffix(doc.Text, []byte("\n")))
		out.WriteByte('\n')
	}
	switch n := len(docs); {
	case n == 0:
		return nil, &manifest.Error{Path: c.InputFile, Err: manifest.ErrEmpty}
	case n == len(others) && current:
		term.Note("no changes are needed, and nothing is written")
		return nil, nil
	case n == 1 && len(others) == 1:
		return nil, others[0]
	case n == len(others):
		return nil, &manifest.Error{Path: c.InputFile, Err: fmt.Errorf("none of the %d documents is %s", n, by.what)}
	}
	for _, err := range others {
		term.Note(err.Error() + ", and is not changed")
	}
	return out.Bytes(), nil
}

// convertOne writes the converted Composition, below comments about the fields that
// cannot be converted.
func convertOne(out *bytes.Buffer, doc manifest.Document, obj map[string]any, term *terminal.Terminal, by conversion) error {
	converted, notes, err := by.convert(obj)
	if wrong, ok := errors.AsType[legacy.Note](err); ok {
		return wrong.At(doc.Path, doc.Lines())
	}
	if err != nil {
		return &manifest.Error{Path: doc.Path, Line: doc.Line, Err: err}
	}
	if len(notes) > 0 {
		out.WriteString("# Not converted from the original Composition:\n")
	}
	lines := doc.Lines()
	for _, note := range notes {
		term.Warn(note.At(doc.Path, lines).Error())
		out.WriteString("# - " + oneLine(note.Error()) + "\n")
	}
	dropServerFields(converted)
	text, err := yaml.Marshal(converted)
	if err != nil {
		return fmt.Errorf("%s: encoding the Composition: %w", doc.Position(), err)
	}
	out.Write(text)
	return nil
}

// dropServerFields removes the fields that only an API server sets, so that the output
// can be applied. It changes obj, but not its nested objects.
func dropServerFields(obj map[string]any) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return
	}
	metadata = maps.Clone(metadata)
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		delete(metadata, field)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		metadata["annotations"] = annotations
	}
	obj["metadata"] = metadata
}

func (by conversion) refuse(obj map[string]any) error {
	u := &unstructured.Unstructured{Object: obj}
	reason := by.resources
	switch gvk := u.GroupVersionKind(); {
	case gvk.Group != apiextv1.Group || gvk.Kind != apiextv1.CompositionKind:
		reason = "is not a Composition"
	case isPipeline(obj):
		reason = by.pipeline
	}
	return fmt.Errorf("%s %s", composition.Describe(u), reason)
}

// isPipeline reports whether an object is a Composition of mode Pipeline, or a Composition with steps
// and without a mode.
func isPipeline(obj map[string]any) bool {
	gvk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind()
	mode, _, _ := unstructured.NestedString(obj, "spec", "mode")
	steps, _, _ := unstructured.NestedFieldNoCopy(obj, "spec", "pipeline")
	return gvk.Group == apiextv1.Group && gvk.Kind == apiextv1.CompositionKind && (mode == "Pipeline" || mode == "" && steps != nil)
}

// oneLine returns an external text as one line of a comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
