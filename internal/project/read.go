package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
)

// The names of project files.
const (
	File        = "crossplane-project.yaml"
	UpboundFile = "upbound.yaml"
)

const (
	kind              = "Project"
	crossplaneVersion = "dev.crossplane.io/v1alpha1"
	upboundV1         = "meta.dev.upbound.io/v1alpha1"
	upboundV2         = "meta.dev.upbound.io/v2alpha1"

	defaultCrossplane = ">=v2.0.0-rc.0"
)

// Languages are the languages for which schemas can be generated.
var Languages = []string{"go", "json", "kcl", "python"}

// Find returns the path of the project file in a directory. If the directory has the files of
// both dialects, Find returns the path of Crossplane's, and other is the path of the other
// file. If it has neither, the error is fs.ErrNotExist.
func Find(dir string) (path, other string, err error) {
	for _, name := range []string{File, UpboundFile} {
		switch _, err := os.Stat(filepath.Join(dir, name)); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", "", fmt.Errorf("finding the project file: %w", err)
		case path == "":
			path = filepath.Join(dir, name)
		default:
			other = filepath.Join(dir, name)
		}
	}
	if path == "" {
		err = fmt.Errorf("finding the project file: the directory %q has neither %s nor %s: %w", cmp.Or(dir, "."), File, UpboundFile, fs.ErrNotExist)
	}
	return path, other, err
}

// Above returns the path of the project file in the nearest directory above dir, or "".
func Above(dir string) string {
	for up := range fsx.Parents(filepath.Join(dir, "..")) {
		if path, _, err := Find(up); err == nil {
			return path
		}
	}
	return ""
}

// Read reads and validates a project file. The error joins all problems in the file, each a
// *manifest.Error. A file named File or UpboundFile has the dialect of its name, because the
// other CLI never reads it; any other file may have either dialect.
func Read(ctx context.Context, path string) (*Project, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, _, _ := Find(path)
		return nil, hint.Wrap(fmt.Errorf("reading project file: expected a file, got %q of mode %s", path, info.Mode()), "name a file such as "+cmp.Or(file, File))
	}
	docs, err := manifest.Reader{FS: afero.NewOsFs()}.All(ctx, path)
	if err == nil && len(docs) == 0 {
		err = hint.Wrap(&manifest.Error{Path: path, Err: manifest.ErrEmpty}, "restore the file, or create a project in a new directory with xfn project init")
	}
	if err != nil {
		return nil, fmt.Errorf("reading project file: %w", err)
	}
	return proc.Await(ctx, func() (*Project, error) { return decode(ctx, path, docs) })
}

func decode(ctx context.Context, path string, docs []manifest.Document) (*Project, error) {
	r := &reader{doc: docs[0].WithJSON()}
	r.p = &Project{Path: path, Root: filepath.Dir(path), doc: docs[0]}
	if len(docs) > 1 {
		r.p.Warnings = append(r.p.Warnings, &manifest.Error{Path: path, Line: docs[1].FirstLine(), Err: errors.New("the project file has further documents, which are not read")})
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	if len(r.errs) > 0 {
		r.errs = append(r.errs, r.p.Warnings...) // An unknown field may be the misspelled name of a missing field.
	}
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	return r.p, nil
}

// onlyStrings are the fields for which the crossplane CLI refuses a number and a boolean. For all
// other strings, it reads them as text.
var onlyStrings = []string{"spec.maintainer", "spec.source", "spec.license", "spec.description", "spec.readme"}

// A reader turns a document into a Project and collects its problems.
type reader struct {
	p    *Project
	doc  manifest.Document
	errs []error
}

// fail adds an error with the line of a field, and continues.
func (r *reader) fail(field, text string, args ...any) {
	r.errs = append(r.errs, r.at(field, text, args...))
}

func (r *reader) require(field, value string) {
	if value == "" {
		r.fail(field, "%s must not be empty", field)
	}
}

func (r *reader) warn(field, text string, args ...any) {
	r.p.Warnings = append(r.p.Warnings, r.at(field, text, args...))
}

func (r *reader) at(field, text string, args ...any) error {
	return r.doc.ErrorOf(field, fmt.Errorf(text, args...))
}

func (r *reader) read(ctx context.Context) error {
	object, duplicate, err := r.doc.StrictObject()
	if err != nil {
		return fmt.Errorf("reading project file: %w", err)
	}
	if duplicate != nil {
		r.p.Warnings = append(r.p.Warnings, duplicate)
	}
	if err := r.dialect(object); err != nil {
		return err
	}
	var f file
	for _, fault := range manifest.DecodeLenient(object, &f) {
		if fault.Unknown || fault.Decoded && !slices.Contains(onlyStrings, fault.Field()) {
			r.warn(fault.Field(), "%v", fault)
			continue
		}
		r.fail(fault.Field(), "%v", fault)
	}
	r.otherDialect(object)
	r.metadata(f.Metadata)
	r.spec(ctx, f.Spec)
	return nil
}

// dialect sets the dialect by the apiVersion. It returns an error for any other object than
// a project, because its fields have other meanings.
func (r *reader) dialect(object map[string]any) error {
	version, _ := object["apiVersion"].(string)
	known := map[string]Dialect{crossplaneVersion: Crossplane, upboundV1: Upbound, upboundV2: Upbound}
	r.p.APIVersion, r.p.Dialect = version, known[version]
	name := filepath.Base(r.doc.Path)
	expected := []string{crossplaneVersion, upboundV2, upboundV1}
	switch name {
	case File:
		expected = expected[:1]
	case UpboundFile:
		expected = expected[1:]
	}
	k, _ := object["kind"].(string)
	if r.p.Dialect == "" && k != kind && k != "" {
		return hint.Wrap(r.at("kind", "expected a project file, got kind %s of %s", k, version), "name the file of a project, such as "+File)
	}
	if !slices.Contains(expected, version) {
		err := r.at("apiVersion", "unsupported apiVersion %q, expected %s", version, strings.Join(expected, " or "))
		switch {
		case name == File && r.p.Dialect == Upbound:
			err = hint.Wrap(err, "rename the file to "+UpboundFile)
		case name == UpboundFile && r.p.Dialect == Crossplane:
			err = hint.Wrap(err, "rename the file to "+File)
		}
		return err
	}
	if k != kind {
		return r.at("kind", "unsupported kind %q, expected %s", k, kind)
	}
	return nil
}

// otherDialect warns of fields that only the other dialect has.
func (r *reader) otherDialect(object map[string]any) {
	other := Upbound
	if r.p.Dialect == Upbound {
		other = Crossplane
	}
	spec, _ := object["spec"].(map[string]any)
	for _, key := range fieldsOf[other] {
		if _, ok := spec[key]; !ok {
			continue
		}
		text := fmt.Sprintf("spec.%s is a field of another kind of project file, and is not read", key)
		if instead := insteadOf[key]; instead != "" {
			text += ": is it spec." + instead + "?"
		}
		r.warn("spec."+key, "%s", text)
	}
	paths, _ := spec["paths"].(map[string]any)
	without := map[string][]string{upboundV1: {"operations", "schemas"}, upboundV2: {"schemas"}}
	for _, key := range without[r.p.APIVersion] {
		if _, ok := paths[key]; ok {
			r.warn("spec.paths."+key, "spec.paths.%s is not a field of %s, and is not read", key, r.p.APIVersion)
		}
	}
}

func (r *reader) metadata(m metadata) {
	r.require("metadata.name", m.Name)
	if strings.ContainsAny(m.Name, `/\`) || m.Name == "." || m.Name == ".." {
		r.fail("metadata.name", "metadata.name is %q, which cannot be the name of a file", m.Name)
	}
	r.p.Name, r.p.Namespace, r.p.Labels, r.p.Annotations = m.Name, m.Namespace, m.Labels, m.Annotations
}

func (r *reader) spec(ctx context.Context, s spec) {
	p := r.p
	p.Maintainer, p.Source, p.License, p.Description, p.Readme = s.Maintainer, s.Source, s.License, s.Description, s.Readme
	r.repository(s.Repository)
	p.CrossplaneVersion = s.Crossplane.Version
	if p.APIVersion != upboundV1 {
		p.CrossplaneVersion = cmp.Or(p.CrossplaneVersion, defaultCrossplane)
	}
	r.paths(s.Paths)
	r.architectures(s.Architectures)
	p.Languages = slices.Clone(Languages)
	if p.Dialect == Upbound {
		r.upbound(s)
		return
	}
	for i, d := range s.Dependencies {
		r.dependency(fmt.Sprintf("spec.dependencies[%d]", i), d)
	}
	r.functions(s.Functions)
	if s.Schemas != nil {
		r.languages(s.Schemas.Languages)
	}
	for i, c := range s.ImageConfigs {
		r.imageConfig(ctx, fmt.Sprintf("spec.imageConfigs[%d]", i), c)
	}
}
