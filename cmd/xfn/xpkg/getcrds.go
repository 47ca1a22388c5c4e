package xpkg

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/inspect"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/schema/validate"
)

// GetCRDsCmd writes the CRDs of packages.
type GetCRDsCmd struct {
	Sources []string `arg:"" help:"Package files, references, YAML files or folders, or - for standard input; separated by commas or as several arguments."`

	OutputDir       string `short:"o" default:"." placeholder:"DIR" help:"Directory to write to, or - for one stream on standard output. Default: the current directory."`
	Flat            bool   `help:"Write NAME.yaml instead of GROUP/VERSION/KIND.yaml."`
	JSONSchema      bool   `name:"json-schema" help:"Write a JSON Schema for each version, as editors use it."`
	Dependencies    string `enum:"none,configurations,all" default:"configurations" help:"Packages whose dependencies are read, too: ${enum}. Package metadata in a file counts as a Configuration. Default: ${default}."`
	CrossplaneImage string `empty:"" placeholder:"IMAGE" help:"Also write the CRDs in this image of Crossplane."`

	// These flags of the crossplane CLI for its cache have no effect.
	CacheDir    string `hidden:""`
	CleanCache  bool   `hidden:""`
	NoCache     bool   `hidden:""`
	UpdateCache bool   `hidden:""`
	registryFlags
}

// Help is shown by --help.
func (GetCRDsCmd) Help() string {
	return `Writes the CRDs of packages, and the CRDs that Crossplane generates from their XRDs. YAML may have CRDs, XRDs, package metadata (crossplane.yaml), whose dependencies are read, and Providers, Functions and Configurations, whose packages are read. Prints the files.

Examples:

    xfn xpkg get-crds registry.example.org/acme/hello:v0.1.0 -o crds
    xfn xpkg get-crds crossplane.yaml,definition.yaml -o crds --flat
    xfn xpkg get-crds hello.xpkg -o - | kubectl apply -f -
`
}

// Run writes the CRDs, and prints the files.
func (c *GetCRDsCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	var sources []string
	for _, s := range c.Sources {
		sources = append(sources, strings.Split(s, ",")...)
	}
	if c.CrossplaneImage != "" {
		sources = append(sources, c.CrossplaneImage)
	}
	packages := false
	all, err := inspect.CollectCRDs(ctx, sources, inspect.CRDOptions{
		Files: manifest.Reader{Stdin: term.Stdin}, Remote: c.Client(p), Registry: c.Registry,
		Follow: inspect.Follow(c.Dependencies), Progress: term.Progress,
		Visit: func(_ manifest.Document, obj map[string]any) {
			group, _, _ := strings.Cut(fieldpath.Text(obj, "apiVersion"), "/")
			packages = packages || group == "pkg.crossplane.io" || group == "meta.pkg.crossplane.io"
		},
	})
	if err != nil {
		return err
	}
	if len(all) == 0 && packages {
		term.Warn(strings.Join(sources, ", ") + ": the packages that are read have no CRDs, XRDs or MRDs")
	} else if len(all) == 0 {
		err := fmt.Errorf("%s: found neither CRDs, XRDs or MRDs nor packages that have them", strings.Join(sources, ", "))
		return hint.Wrap(err, "name the files or folders of definitions, package files, references of packages, or a crossplane.yaml")
	}
	v := inspect.NewValidator(all, validate.Options{Unused: func(r validate.Result) { flags.WarnRefused(term, r) }})
	if err := v.Documents(ctx, func(func(manifest.Document, error) bool) {}, nil); err != nil {
		return err
	}
	files, err := c.files(all)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := c.write(term, f); err != nil {
			return err
		}
	}
	return nil
}

type file struct {
	path string
	data []byte
}

func (c *GetCRDsCmd) files(all []inspect.CRD) (files []file, err error) {
	add := func(d inspect.CRD, version, flat, ext string, data []byte, err error) error {
		if err != nil {
			return fmt.Errorf("writing CRD %q: %w", d.Name, err)
		}
		path, err := c.path(d, version, flat, ext)
		files = append(files, file{path, data})
		return err
	}
	for _, d := range all {
		if !c.JSONSchema {
			var text bytes.Buffer
			err := manifest.Write(&text, d.Object)
			if err := add(d, d.Storage(), d.Name, ".yaml", text.Bytes(), err); err != nil {
				return nil, err
			}
			continue
		}
		for _, v := range d.Versions {
			id := []string{d.Group, v.Name, strings.ToLower(d.Kind)}
			data, err := json.MarshalIndent(v.JSONSchema(strings.Join(id, "/")+".json"), "", "  ")
			if err := add(d, v.Name, strings.Join(id, "_"), ".json", append(data, '\n'), err); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// inName matches a group, version or kind that can be a part of a path.
var inName = proc.Regexp(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

func (c *GetCRDsCmd) path(d inspect.CRD, version, flat, ext string) (string, error) {
	kind := strings.ToLower(d.Kind)
	for _, part := range []string{d.Group, version, kind, d.Plural} {
		if !inName().MatchString(part) {
			return "", fmt.Errorf("writing CRD %q of %s: %q cannot be a part of a file name", d.Name, d.From(), part)
		}
	}
	if c.Flat {
		return filepath.Join(c.OutputDir, flat+ext), nil
	}
	return filepath.Join(c.OutputDir, d.Group, version, kind+ext), nil
}

func (c *GetCRDsCmd) write(term *terminal.Terminal, f file) error {
	if c.OutputDir == stdout {
		return write(term.Stdout, f.data)
	}
	return term.WriteNamed(f.path, bytes.TrimPrefix(f.data, []byte("---\n")))
}
