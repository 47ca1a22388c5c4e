package coverage

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// WriteProfile writes the coverage in the format of Go's cover profiles, with a block for each
// part. The profile has paths as they were given.
func WriteProfile(w io.Writer, r Report) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "mode: set")
	for _, c := range r.Compositions {
		lines := strings.Split(string(c.text), "\n")
		for _, p := range c.Parts {
			hits := 0
			if p.Ran {
				hits = 1
			}
			last, column := p.Line+1, 1 // The length of a line in a template file is unknown.
			if i := p.Line - c.Line; p.File == "" && i >= 0 && i < len(lines) {
				last, column = p.Line, len(lines[i])+1
			}
			fmt.Fprintf(out, "%s:%d.1,%d.%d 1 %d\n", filepath.ToSlash(c.fileOf(p)), p.Line, last, column, hits)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the coverage profile: %w", err)
	}
	return nil
}

// rates are the attributes of each element of a Cobertura report.
type rates struct {
	LineRate   string `xml:"line-rate,attr"`
	BranchRate string `xml:"branch-rate,attr"`
	Complexity string `xml:"complexity,attr"`
}

type cobertura struct {
	XMLName xml.Name `xml:"coverage"`
	rates
	LinesCovered    int       `xml:"lines-covered,attr"`
	LinesValid      int       `xml:"lines-valid,attr"`
	BranchesCovered int       `xml:"branches-covered,attr"`
	BranchesValid   int       `xml:"branches-valid,attr"`
	Version         string    `xml:"version,attr"`
	Timestamp       int       `xml:"timestamp,attr"`
	Sources         []string  `xml:"sources>source"`
	Packages        []element `xml:"packages>package"`
}

// An element is a package: a folder with its classes, which are files.
type element struct {
	Name string `xml:"name,attr"`
	rates
	Classes []class    `xml:"classes>class"`
	counts  lineCounts `xml:"-"`
}

type class struct {
	Name string `xml:"name,attr"`
	File string `xml:"filename,attr"`
	rates
	Methods struct{}   `xml:"methods"`
	Lines   []xmlLine  `xml:"lines>line"`
	counts  lineCounts `xml:"-"`
}

type xmlLine struct {
	Number    int    `xml:"number,attr"`
	Hits      int    `xml:"hits,attr"`
	Branch    bool   `xml:"branch,attr,omitempty"`
	Condition string `xml:"condition-coverage,attr,omitempty"`
}

// lineCounts counts lines with parts, and the parts of lines with several.
type lineCounts struct{ lines, hit, branches, taken int }

func (c *lineCounts) add(o lineCounts) {
	c.lines, c.hit, c.branches, c.taken = c.lines+o.lines, c.hit+o.hit, c.branches+o.branches, c.taken+o.taken
}

func (c lineCounts) rates() rates {
	return rates{LineRate: rate(c.hit, c.lines), BranchRate: rate(c.taken, c.branches), Complexity: "0"}
}

func rate(n, all int) string {
	if all == 0 {
		return "1"
	}
	return fmt.Sprintf("%.4f", float64(n)/float64(all))
}

// WriteCobertura writes the coverage as a Cobertura XML report: a package for each folder, and
// a class for each file. A line with several parts has a branch for each. The timestamp is 0,
// so that the same run gives the same bytes.
func WriteCobertura(w io.Writer, r Report) error {
	files := map[string][]Part{}
	for _, c := range r.Compositions {
		for _, p := range c.Parts {
			path := filepath.ToSlash(c.fileOf(p))
			files[path] = append(files[path], p)
		}
	}
	doc := cobertura{Version: "xfn", Sources: []string{"."}}
	packages := map[string]*element{}
	var all lineCounts
	for _, path := range slices.Sorted(maps.Keys(files)) {
		one := newClass(path, files[path])
		folder := filepath.ToSlash(filepath.Dir(path))
		if packages[folder] == nil {
			packages[folder] = &element{Name: folder}
		}
		p := packages[folder]
		p.Classes = append(p.Classes, one)
		p.counts.add(one.counts)
		all.add(one.counts)
	}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		p := packages[folder]
		p.rates = p.counts.rates()
		doc.Packages = append(doc.Packages, *p)
	}
	doc.rates = all.rates()
	doc.LinesValid, doc.LinesCovered, doc.BranchesValid, doc.BranchesCovered = all.lines, all.hit, all.branches, all.taken
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	if err != nil {
		return fmt.Errorf("writing the Cobertura report: %w", err)
	}
	return nil
}

func newClass(path string, parts []Part) class {
	c := class{Name: filepath.Base(path), File: path}
	byLine := map[int][]Part{}
	for _, p := range parts {
		byLine[p.Line] = append(byLine[p.Line], p)
	}
	for _, n := range slices.Sorted(maps.Keys(byLine)) {
		ran, of := count(byLine[n])
		l := xmlLine{Number: n, Hits: ran}
		c.counts.lines++
		if ran > 0 {
			c.counts.hit++
		}
		if of > 1 {
			l.Branch, l.Condition = true, fmt.Sprintf("%d%% (%d/%d)", 100*ran/of, ran, of)
			c.counts.add(lineCounts{branches: of, taken: ran})
		}
		c.Lines = append(c.Lines, l)
	}
	c.rates = c.counts.rates()
	return c
}
