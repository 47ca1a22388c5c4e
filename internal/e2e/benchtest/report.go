package benchtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Machine describes the machine, on which the figures of a report depend.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory int64  `json:"memory"`
	OS     string `json:"os"`
	Go     string `json:"go"`
	// Date is the day of the run, and Version the version of xfn.
	Date    string `json:"date"`
	Version string `json:"version"`
	// Registry is the registry of pushes and pulls.
	Registry string `json:"registry"`
	// Layers is the number of layers of the large image.
	Layers int `json:"layers"`
}

// A Report is the content of bench.json.
type Report struct {
	Machine Machine `json:"machine"`
	Lines   []Line  `json:"lines"`
}

// A Line is a line of the table: an aim of a row.
type Line struct {
	Row   string `json:"row"`
	Job   string `json:"job"`
	Limit string `json:"limit,omitempty"`
	Floor string `json:"floor,omitempty"`
	Aim   string `json:"aim"`
	// Unit is "seconds" or "bytes".
	Unit string `json:"unit"`
	// Figures are by program.
	Figures map[string]*Figure `json:"figures,omitempty"`
	// Ratio is the figure of xfn divided by the figure of the limit, or the other way
	// around if the aim is a speedup.
	Ratio float64 `json:"ratio,omitempty"`
	Met   bool    `json:"met"`
	// Missing is the reason why there is no figure.
	Missing string `json:"missing,omitempty"`
}

// NewReport compares samples with the aims of all rows whose name matches.
func NewReport(m Machine, s Samples, wanted *regexp.Regexp) Report {
	r := Report{Machine: m}
	for _, row := range Rows() {
		if !wanted.MatchString(row.Name) {
			continue
		}
		for _, aim := range row.Aims {
			r.Lines = append(r.Lines, newLine(row, aim, s))
		}
	}
	return r
}

func newLine(row Row, aim Aim, s Samples) Line {
	l := Line{Row: row.Name, Job: row.Job, Aim: aim.String(), Unit: "seconds", Figures: map[string]*Figure{}}
	if aim.Peak {
		l.Job, l.Unit = row.Job+": peak memory", "bytes"
	}
	for program, costs := range s.Costs[row.Name] {
		if f := figure(costs, aim.Peak); f != nil {
			l.Figures[program] = f
		}
	}
	if aim.Peak {
		delete(l.Figures, Floor)
	} else if l.Figures[Floor] != nil {
		l.Floor = row.Floor
	}
	ours, limit := l.Figures[XFN], l.Figures[Limit]
	if aim.Factor != 0 || aim.Faster != 0 {
		l.Limit = row.Limit
	} else {
		limit = nil
		delete(l.Figures, Limit)
	}
	if ours == nil || l.Limit != "" && limit == nil {
		l.Missing = s.missing(row)
		return l
	}
	l.Met = ours.Median <= aim.Plus
	if limit != nil {
		l.Ratio = ours.Median / limit.Median
		l.Met = ours.Median <= aim.Factor*limit.Median+aim.Plus
	}
	if aim.Faster != 0 {
		l.Ratio = 1 / l.Ratio
		l.Met = l.Ratio >= aim.Faster
	}
	return l
}

// missing returns why a row has no samples.
func (s Samples) missing(row Row) string {
	m, ok := s.Missing[row.Name]
	if !ok {
		m, ok = s.Missing[strings.TrimPrefix(row.Benchmark, "Benchmark")]
	}
	switch {
	case m.Failed:
		return "failed: " + m.Reason
	case row.Needs != "":
		return "needs " + row.Needs
	case ok:
		return m.Reason
	}
	return "its benchmark did not run"
}

// String returns the aim as in the table.
func (a Aim) String() string {
	plus := quantity(a.Plus, a.Peak)
	switch {
	case a.Faster != 0:
		return fmt.Sprintf("≥ %g × faster", a.Faster)
	case a.Factor == 0:
		return "≤ " + plus
	case a.Plus == 0:
		return fmt.Sprintf("≤ %g ×", a.Factor)
	case a.Factor == 1:
		return "≤ limit + " + plus
	}
	return fmt.Sprintf("≤ %g × + %s", a.Factor, plus)
}

func quantity(value float64, bytes bool) string {
	if bytes {
		return fmt.Sprintf("%.0f MiB", value/(1<<20))
	}
	return seconds(value)
}

// Markdown returns the report as sentences about the machine and a table, whose columns
// are aligned for terminals. A second table shows the floors of the aims that are not met.
func (r Report) Markdown() string {
	header := []string{"job", "xfn", "limit", "ratio", "aim", "met"}
	cli := slices.ContainsFunc(r.Lines, func(l Line) bool { return l.Figures[CLI] != nil })
	if cli {
		header = append(header, "crossplane CLI")
	}
	cells := [][]string{header}
	for _, l := range r.Lines {
		line := []string{l.Job, l.cell(XFN), strings.TrimSpace(l.cell(Limit) + " " + l.Limit), "", l.Aim, "no"}
		if l.Ratio != 0 {
			line[3] = fmt.Sprintf("%.2f", l.Ratio)
		}
		if l.Met {
			line[5] = "yes"
		}
		if l.Missing != "" {
			line[1], line[5] = "not measured: "+shortened(l.Missing), ""
		}
		if cli {
			line = append(line, l.cell(CLI))
		}
		cells = append(cells, line)
	}
	return r.Machine.String() + "\n\n" + aligned(cells) + r.floors()
}

// floors returns the table of the floors of missed aims, which may be empty.
func (r Report) floors() string {
	cells := [][]string{{"job", "xfn", "floor", "ratio"}}
	for i, l := range r.Lines {
		same := func(other Line) bool { return other.Row == l.Row && other.Floor != "" && !other.Met }
		if l.Floor == "" || l.Met || l.Missing != "" || slices.ContainsFunc(r.Lines[:i], same) {
			continue
		}
		ratio := l.Figures[XFN].Median / l.Figures[Floor].Median
		cells = append(cells, []string{l.Job, l.cell(XFN), l.cell(Floor) + " " + l.Floor, fmt.Sprintf("%.2f", ratio)})
	}
	if len(cells) == 1 {
		return ""
	}
	return "\nFor aims that are not met, the floor is the time of the parts of the job that no program can leave out:\n\n" + aligned(cells)
}

// shortened returns at most 60 characters of a text. The report has the complete text.
func shortened(text string) string {
	if all := []rune(text); len(all) > 60 {
		return string(all[:60]) + "…"
	}
	return text
}

// cell returns the median of a program, and the quartiles if there are several samples.
func (l Line) cell(program string) string {
	f := l.Figures[program]
	if f == nil {
		return ""
	}
	bytes := l.Unit == "bytes"
	text := quantity(f.Median, bytes)
	if low, high := quantity(f.Low, bytes), quantity(f.High, bytes); low != high {
		text += fmt.Sprintf(" (%s–%s)", low, high)
	}
	return text
}

// String returns sentences about the machine.
func (m Machine) String() string {
	text := fmt.Sprintf("Measured on %s with xfn %s: %d cores of %s, %.1f GiB of memory, %s, %s.\nThe registry is %s. Figures are medians, with the first and the third quartile in parentheses.",
		m.Date, m.Version, m.Cores, m.CPU, float64(m.Memory)/(1<<30), m.OS, m.Go, m.Registry)
	if m.Layers != DefaultLayers {
		text += fmt.Sprintf("\nThe large image has %d layers of 256 MiB instead of %d.", m.Layers, DefaultLayers)
	}
	return text
}

// aligned returns a table in Markdown. The first row is its header.
func aligned(cells [][]string) string {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for n, line := range cells {
		for i, cell := range line {
			b.WriteString("| " + cell + strings.Repeat(" ", widths[i]-len([]rune(cell))) + " ")
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, width := range widths {
				b.WriteString("| " + strings.Repeat("-", width) + " ")
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// Marks around the table of a page.
const (
	tableBegins = "<!-- `make bench-page` writes this table. -->\n"
	tableEnds   = "<!-- end of the table -->\n"
)

// Insert returns the page with the report as its table.
func (r Report) Insert(page string) (string, error) {
	before, rest, begins := strings.Cut(page, tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return "", fmt.Errorf("finding the table: the page has no lines %q and %q", tableBegins, tableEnds)
	}
	return before + tableBegins + "\n" + r.Markdown() + "\n" + tableEnds + after, nil
}
