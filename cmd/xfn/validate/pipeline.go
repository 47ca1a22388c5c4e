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
	"github.com/xfn-dev/xfn/internal/schema"
)

// ConvertCmd is the group xfn convert.
type ConvertCmd struct {
	PipelineComposition PipelineCmd `cmd:"" help:"Convert a legacy Composition to a pipeline."`
}

// PipelineCmd is xfn convert pipeline-composition.
type PipelineCmd struct {
	InputFile  string `arg:"" name:"file" optional:"" default:"-" help:"File with the Composition, or - for stdin, the default. Other documents of the file are not changed."`
	OutputFile string `short:"o" placeholder:"FILE" help:"File to write, or - for stdout, the default."`

	FunctionName           string `short:"f" aliases:"function-patch-and-transform-ref" default:"function-patch-and-transform" placeholder:"NAME" help:"Name of the Function for patches and transforms. Default: ${default}."`
	EnvironmentConfigsName string `name:"function-environment-configs-ref" default:"function-environment-configs" placeholder:"NAME" help:"Name of the Function for EnvironmentConfigs. Default: ${default}."`
}

// Help is shown by --help.
func (PipelineCmd) Help() string {
	return `Converts a Composition of mode Resources, or with neither a mode nor steps, to a pipeline that calls function-patch-and-transform and, if needed, function-environment-configs. Alpha functions (spec.functions) become steps; their functions must be rewritten. Fields that cannot be converted are listed in comments above the Composition and on stderr.

Examples:

    xfn convert pipeline-composition composition.yaml -o pipeline.yaml
    kubectl get composition widgets -o yaml | xfn convert pipeline-composition
`
}

// Run converts the documents, and writes all or none.
func (c *PipelineCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	docs, err := manifest.Reader{FS: afero.NewOsFs(), Stdin: term.Stdin}.All(ctx, c.InputFile)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if _, err := doc.StrictJSON(); err != nil {
			term.Warn(err.Error() + "; the last one is used")
		}
	}
	if docs, err = unlisted(docs); err != nil {
		return err
	}
	out, err := c.convert(docs, term)
	if err != nil {
		return err
	}
	if c.OutputFile != "" && c.OutputFile != manifest.Stdin {
		return fsx.WriteFile(c.OutputFile, 0o644, out)
	}
	if _, err := term.Stdout.Write(out); err != nil {
		return fmt.Errorf("printing the pipeline: %w", err)
	}
	return nil
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

// convert returns the documents with all legacy Compositions converted. At least one
// of them must be a legacy Composition.
func (c *PipelineCmd) convert(docs []manifest.Document, term *terminal.Terminal) ([]byte, error) {
	var out bytes.Buffer
	var others []error
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		if legacy.Converts(obj) {
			if err := c.convertOne(&out, doc, obj, term); err != nil {
				return nil, err
			}
			continue
		}
		u := &unstructured.Unstructured{Object: obj}
		notLegacy := &manifest.Error{Path: doc.Path, Line: doc.Line, Err: errors.New(other(u))}
		others = append(others, schema.SuggestKind(notLegacy, u.GetAPIVersion(), u.GetKind()))
		out.Write(bytes.TrimSuffix(doc.Text, []byte("\n")))
		out.WriteByte('\n')
	}
	switch n := len(docs); {
	case n == 0:
		return nil, &manifest.Error{Path: c.InputFile, Err: manifest.ErrEmpty}
	case n == 1 && len(others) == 1:
		return nil, others[0]
	case n == len(others):
		return nil, &manifest.Error{Path: c.InputFile, Err: fmt.Errorf("none of the %d documents is a legacy Composition", n)}
	}
	for _, err := range others {
		term.Note(err.Error() + ", and is not changed")
	}
	return out.Bytes(), nil
}

// convertOne writes the converted Composition, below comments about the fields that
// cannot be converted.
func (c *PipelineCmd) convertOne(out *bytes.Buffer, doc manifest.Document, obj map[string]any, term *terminal.Terminal) error {
	pipeline, notes, err := legacy.Convert(obj, legacy.Names{PatchAndTransform: c.FunctionName, EnvironmentConfigs: c.EnvironmentConfigsName})
	var wrong legacy.Note
	if errors.As(err, &wrong) {
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
	dropServerFields(pipeline)
	text, err := yaml.Marshal(pipeline)
	if err != nil {
		return fmt.Errorf("%s: encoding the pipeline: %w", doc.Position(), err)
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

// other describes an object that is not a legacy Composition.
func other(u *unstructured.Unstructured) string {
	what := composition.Describe(u)
	mode, _, _ := unstructured.NestedString(u.Object, "spec", "mode")
	steps, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "pipeline")
	switch gvk := u.GroupVersionKind(); {
	case gvk.Group != apiextv1.Group || gvk.Kind != apiextv1.CompositionKind:
		return what + " is not a Composition"
	case mode == "Pipeline", mode == "" && steps != nil:
		return what + " is already a pipeline"
	default:
		return what + " is not of mode Resources"
	}
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
