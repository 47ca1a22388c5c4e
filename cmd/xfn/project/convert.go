package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/schema"
	"github.com/xfn-dev/xfn/internal/schema/crd"
)

// XRDConvertCmd converts an XRD.
type XRDConvertCmd struct {
	InputFile  string `arg:"" optional:"" default:"-" name:"file" help:"File with an XRD, or - for stdin. Default: ${default}."`
	OutputFile string `short:"o" xor:"out" empty:"" placeholder:"FILE" help:"Write to a file instead of stdout."`
	OutputDir  string `writes:"crds/" xor:"out" empty:"" placeholder:"DIR" help:"Write a file for each CRD or JSON Schema to a directory."`
	Format     string `enum:"crd,jsonschema" default:"crd" help:"Write ${enum}. Default: ${default}."`
}

// Help is shown by --help.
func (XRDConvertCmd) Help() string {
	return `Writes the CRDs that Crossplane derives from the XRD, for the XRs and for the claims if there are any, or a JSON Schema for each of their versions.

Examples:

    xfn xrd convert apis/apps/definition.yaml -o crds.yaml
    xfn xrd convert apis/apps/definition.yaml \
        --format jsonschema --output-dir schemas
`
}

// Run converts the XRD.
func (c *XRDConvertCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	obj, doc, err := readObject(ctx, term, c.InputFile)
	if err != nil {
		return err
	}
	files, err := c.convert(obj)
	if err != nil {
		return &manifest.Error{Path: doc.Path, Line: doc.FirstLine(), Err: err}
	}
	if c.Format == "jsonschema" && c.OutputFile != "" && len(files) > 1 {
		err := fmt.Errorf("writing %q: one file cannot have %d JSON Schemas", c.OutputFile, len(files))
		return &terminal.UsageError{Err: hint.Wrap(err, "write a file for each with --output-dir")}
	}
	if c.OutputDir == "" {
		var all bytes.Buffer
		for _, f := range files {
			all.Write(f.text)
		}
		return writeOutput(term, c.OutputFile, func(w io.Writer) error {
			_, err := w.Write(all.Bytes())
			return err
		})
	}
	for _, f := range files {
		if err := term.WriteNamed(filepath.Join(c.OutputDir, f.name), f.text); err != nil {
			return err
		}
	}
	return nil
}

type convertedFile struct {
	name string
	text []byte
}

// convert returns a file for each CRD of an XRD or, unless c.Format is crd, for each version of these.
func (c *XRDConvertCmd) convert(xrd map[string]any) (files []convertedFile, err error) {
	if _, err := schema.NewXRD(xrd); err != nil {
		return nil, err
	}
	if v := (&unstructured.Unstructured{Object: xrd}).GroupVersionKind().Version; v != "v1" && v != "v2" {
		return nil, fmt.Errorf("expected an XRD of version v1 or v2 of apiextensions.crossplane.io, got %q", v)
	}
	all, err := crd.Generate(xrd)
	if err != nil {
		return nil, err
	}
	add := func(name string, text []byte) error {
		if !filepath.IsLocal(name) || filepath.Base(name) != name {
			return fmt.Errorf("%q cannot be the name of a file", name)
		}
		files = append(files, convertedFile{name, text})
		return nil
	}
	for _, obj := range all {
		def, err := crd.Read(obj)
		if err != nil {
			return nil, err
		}
		if c.Format == "crd" {
			var text bytes.Buffer
			if err := manifest.Write(&text, obj); err != nil {
				return nil, err
			}
			if err := add((&unstructured.Unstructured{Object: obj}).GetName()+".yaml", text.Bytes()); err != nil {
				return nil, err
			}
			continue
		}
		for _, v := range def.Versions {
			id := []string{def.Group, v.Name, strings.ToLower(def.Kind)}
			text, err := json.MarshalIndent(v.JSONSchema(strings.Join(id, "/")+".json"), "", "  ")
			if err := errors.Join(err, add(strings.Join(id, "_")+".json", append(text, '\n'))); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// XRPatchCmd completes an XR.
type XRPatchCmd struct {
	InputFile  string `arg:"" optional:"" default:"-" name:"file" help:"File with an XR, or - for stdin. Default: ${default}."`
	OutputFile string `short:"o" empty:"" placeholder:"FILE" help:"Write the XR to a file instead of stdout."`
	XRD        string `once:"" name:"xrd" required:"" placeholder:"FILE" help:"File with the XRD, whose defaults are set."`
}

// Help is shown by --help.
func (XRPatchCmd) Help() string {
	return `Sets the fields that an XR or a claim lacks to the defaults of its XRD, as the API server does.

Example:

    xfn xr patch examples/app.yaml --xrd apis/apps/definition.yaml
`
}

// Run prints the XR with the defaults.
func (c *XRPatchCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	if c.InputFile == manifest.Stdin && c.XRD == manifest.Stdin {
		return &terminal.UsageError{Err: errors.New("only one of the XR and the XRD can be stdin")}
	}
	obj, doc, err := readObject(ctx, term, c.XRD)
	if err != nil {
		return err
	}
	xrd, err := schema.NewXRD(obj)
	if err != nil {
		return &manifest.Error{Path: doc.Path, Line: doc.FirstLine(), Err: err}
	}
	if obj, doc, err = readObject(ctx, term, c.InputFile); err != nil {
		return err
	}
	xr := &unstructured.Unstructured{Object: obj}
	if err := xrd.Defines(xr.GroupVersionKind()); err != nil && !xrd.Offers(xr.GroupVersionKind()) {
		return &manifest.Error{Path: doc.Path, Line: doc.FirstLine(), Err: err}
	}
	if err := xrd.Default(xr); err != nil {
		return fmt.Errorf("applying the defaults of XRD %q: %w", c.XRD, err)
	}
	return writeOutput(term, c.OutputFile, func(w io.Writer) error { return manifest.Write(w, xr.Object) })
}

func readObject(ctx context.Context, term *terminal.Terminal, path string) (map[string]any, manifest.Document, error) {
	obj, doc, err := manifest.Reader{FS: afero.NewOsFs(), Stdin: stdin(term, path)}.FirstObject(ctx, path)
	if path == "-" && errors.Is(err, manifest.ErrEmpty) {
		err = hint.Wrap(err, nameFile)
	}
	return obj, doc, err
}

const nameFile = "name a file, or pipe its content to this command"

// stdin returns standard input. It prints a note if a command is to read the path from the terminal.
func stdin(term *terminal.Terminal, path string) io.Reader {
	if path == manifest.Stdin && term.Interactive() {
		term.Note("reading from the terminal: " + nameFile)
	}
	return term.Stdin
}

// writeOutput writes to a file, or to stdout if path is "" or "-".
func writeOutput(term *terminal.Terminal, path string, write func(io.Writer) error) error {
	if path == "" || path == manifest.Stdin {
		return write(term.Stdout)
	}
	return terminal.WriteFile(path, write)
}
