package suite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// templateFiles are the files of templates that builtins read while cases ran, by their paths.
// The value is a digest. It is safe for concurrent use.
type templateFiles struct{ digests sync.Map }

func (f *templateFiles) add(path, text string) {
	f.digests.Store(path, sha256.Sum256([]byte(text)))
}

func (f *templateFiles) writeTo(h io.Writer) {
	all := map[string]any{}
	for path, digest := range f.digests.Range {
		all[path.(string)] = digest
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(h, "%q %x\n", path, all[path])
	}
}

// generateInputs adds cases with generated composite resources to a subject.
// The Composition itself must be able to render them. The first case that has an XRD supplies the
// other inputs. If no case has an XRD, generateInputs adds no case.
func (r *runner) generateInputs(ctx context.Context, s *subject, m MutationOptions) error {
	for _, c := range s.cases {
		a, err := r.attempt(c.item)
		if err != nil {
			return err
		}
		if m.Inputs > 0 && isSet(a.form.XRD) && a.form.Expect.Fatal == nil && a.form.Expect.Error == nil {
			return a.generate(ctx, s, c, m)
		}
	}
	return nil
}

func (a *attempt) generate(ctx context.Context, s *subject, c caseOutput, m MutationOptions) error {
	docs, err := a.documents(ctx, []spec.Source{a.form.XRD}, "xrd")
	if err != nil {
		return err
	}
	xrd, definition, err := onlyXRD(docs, a.form.XRD.File)
	if err != nil {
		return err
	}
	g, err := NewGenerator(ctx, xrd, s.Spec.CompositeTypeRef.APIVersion, m.Seed)
	if err != nil {
		return err
	}
	for n := range m.Inputs {
		xr, err := g.XR(ctx, n)
		if errors.Is(err, ErrNoInput) {
			a.options.Config.Progress.Warn("mutants are not tried with generated inputs: " + err.Error())
			return nil
		}
		if err != nil {
			return err
		}
		item := c.item
		item.fuzz = &fuzzInput{xr: xr, xrd: definition}
		if got := a.runner.run(ctx, item); got.Status != Failed {
			s.generated = append(s.generated, caseOutput{item, got.composed(), c.mocks, got.result.Document.Text, nil})
		}
	}
	return nil
}

// sum returns a digest of all that the verdicts about mutants depend on: the Composition, the
// cases with what they compose, the files that they name, the files of templates, and the versions
// of functions and xfn.
func (r *runner) sum(s *subject, version string, read *templateFiles) (string, error) {
	h := sha256.New()
	encoder := json.NewEncoder(h)
	err := encoder.Encode([]any{version, r.options.Features, s.Document.Text})
	for _, c := range s.cases {
		err = cmp.Or(err, r.sumCase(h, c))
	}
	for _, c := range s.generated {
		err = cmp.Or(err, encoder.Encode([]any{c.xr, c.docs}))
	}
	if err != nil {
		return "", fmt.Errorf("computing the digest of the cases of %s: %w", s.Document.Position(), err)
	}
	read.writeTo(h)
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func (r *runner) sumCase(h io.Writer, c caseOutput) error {
	a, err := r.attempt(c.item)
	if err != nil {
		return err
	}
	fields, err := a.item.Case.Fields()
	if err != nil {
		return err
	}
	golden := a.form.Expect.Golden
	files := slices.AppendSeq([]string{golden.File, golden.XR}, maps.Values(golden.Resources)) // They are sorted below.
	for _, one := range a.form.Expect.Assertions {
		files = append(files, one.Expected)
	}
	var functions []string
	for _, run := range c.functions {
		functions = append(functions, run.Function, run.Package, string(run.Runtime), run.Detail)
	}
	if err := json.NewEncoder(h).Encode([]any{c.item.Name(), fields, c.xr, c.docs, functions}); err != nil {
		return err
	}
	mapPaths(func(path string) string {
		files = append(files, path)
		return path
	}).fields(fields)
	slices.Sort(files) // The fields are visited in any order.
	for _, file := range files {
		if file != "" {
			err = cmp.Or(err, r.sumFiles(h, a.path(file), ".yaml", ".yml", ".json"))
		}
	}
	for _, run := range c.functions {
		err = cmp.Or(err, r.sumFiles(h, run.Package))
	}
	return err
}

// sumFiles writes the path and the content of a file to h. For a folder, it does so for all
// files in it or, if extensions are given, for the files with these extensions. A path that does
// not exist, such as an image, has no content.
func (r *runner) sumFiles(h io.Writer, path string, extensions ...string) error {
	fsys := r.options.Config.Reader.FS
	err := afero.Walk(fsys, path, func(name string, _ fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		info, err := fsys.Stat(name) // unlike Walk, Stat follows links
		if err != nil || !info.Mode().IsRegular() || name != path && len(extensions) > 0 && !slices.Contains(extensions, filepath.Ext(name)) {
			return nil
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(h, "%q %d\n", name, info.Size())
		_, err = io.Copy(h, f)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
