package check

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// Goldens reads and writes golden files.
type Goldens interface {
	// Read returns the documents of a file. A missing file is fs.ErrNotExist.
	Read(path string) ([]map[string]any, error)
	// Update writes documents to a file if golden files are updated, and reports
	// whether it did.
	Update(path string, docs []map[string]any) (bool, error)
}

// golden compares the output with golden files.
func (r *run) golden(g spec.Golden) {
	path := []string{"expect", "golden"}
	s := r.subject
	if g.File != "" {
		r.compare(path, g.File, append([]map[string]any{s.Document}, s.Composed...))
	}
	if g.XR != "" {
		r.compare(append(path, "xr"), g.XR, []map[string]any{s.Document})
	}
	for _, name := range slices.Sorted(maps.Keys(g.Resources)) {
		at := append(slices.Clone(path), "resources", name)
		obj, err := s.find(name)
		if err != nil {
			r.failErr(at, err)
			continue
		}
		r.compare(at, g.Resources[name], []map[string]any{obj})
	}
}

func (r *run) compare(path []string, file string, got []map[string]any) {
	want, err := r.Goldens.Read(file)
	missing := errors.Is(err, fs.ErrNotExist)
	diffs := report.Compare(want, got)
	if err == nil && len(diffs) == 0 {
		return
	}
	updated, updateErr := r.Goldens.Update(file, got)
	switch {
	case updateErr != nil:
		r.failErr(path, updateErr)
	case updated:
	case missing:
		r.fail(Failure{Path: path, Text: "there is no golden file " + file + " yet", Hint: "write it with " + hint.Update})
	case err != nil:
		r.fail(Failure{Path: path, Text: err.Error(), Hint: "replace it with " + hint.Update})
	default:
		r.fail(Failure{Path: path, Text: "the output differs from " + file, Diffs: r.blamed(diffs), Hint: "if the new output is correct, write it with " + hint.Update})
	}
}

// blamed adds to differences the steps that set the fields.
func (r *run) blamed(diffs []report.DocDiff) []report.DocDiff {
	for i, d := range diffs {
		if d.Resource == "" && d.Kind != fieldpath.Text(r.subject.XR, "kind") {
			continue
		}
		for j, c := range d.Changes {
			if c.Op != report.Removed {
				diffs[i].Changes[j].Step = r.subject.step(d.Resource, c.Path)
			}
		}
	}
	return diffs
}
