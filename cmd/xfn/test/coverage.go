package test

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
)

// cover prints the coverage as text, writes its files, and returns an error if it is below
// the minimum.
func (r *reporter) cover(c coverage.Report) error {
	if r.text != nil {
		if err := coverage.WriteText(r.term.Stdout, c, r.term.Verbose); err != nil {
			return err
		}
	}
	if dir := r.Coverage.Path; dir != "" {
		for name, write := range map[string]func(io.Writer, coverage.Report) error{
			"index.html": coverage.WritePage, "cobertura.xml": coverage.WriteCobertura, "coverage.out": coverage.WriteProfile,
		} {
			err := fsx.Write(filepath.Join(dir, name), 0o644, func(w io.Writer) error { return write(w, c) })
			if err != nil {
				return fmt.Errorf("writing the coverage: %w", err)
			}
		}
		r.term.Note("the coverage is in " + filepath.Join(dir, "index.html"))
	}
	if got := c.Percent(); got < r.CoverageMin {
		return fmt.Errorf("the coverage is %.1f%%, below the minimum of %v%%", got, r.CoverageMin)
	}
	return nil
}
