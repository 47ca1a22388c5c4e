package test

import (
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/suite/coverage"
)

// checkMin returns an error if a percentage is below a minimum, or if nothing was measured. The
// text of the error begins with what. The percentage is rounded down.
func checkMin(what string, percent func() (float64, bool), least float64) error {
	got, measured := percent()
	switch {
	case least > 0 && !measured:
		return fmt.Errorf("%s unknown, because no case runs a Composition that can be measured; the minimum is %v%%", what, least)
	case measured && got < least:
		return fmt.Errorf("%s %.1f%%, below the minimum of %v%%", what, math.Floor(10*got)/10, least)
	}
	return nil
}

// cover prints the coverage as text, writes its files, and returns an error if it is below
// the minimum.
func (r *reporter) cover(c coverage.Report) error {
	if r.text != nil {
		if err := coverage.WriteText(r.term.Stdout, c, r.term.Verbose); err != nil {
			return err
		}
	}
	if dir := r.Coverage.Path; dir != "" {
		for _, file := range []struct {
			name  string
			write func(io.Writer, coverage.Report) error
		}{{"index.html", coverage.WritePage}, {"cobertura.xml", coverage.WriteCobertura}, {"coverage.out", coverage.WriteProfile}} {
			path := filepath.Join(dir, file.name)
			if err := terminal.WriteFile(path, func(w io.Writer) error { return file.write(w, c) }); err != nil {
				return err
			}
		}
		r.term.Note("the coverage is in " + filepath.Join(dir, "index.html"))
	}
	return checkMin("the coverage is", c.Percent, r.CoverageMin)
}
