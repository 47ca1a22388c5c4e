package coverage

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/report"
)

// most is the maximum number of parts, and of fields, that WriteText lists for a Composition.
const most = 12

// WriteText writes the coverage as text. It lists at most twelve parts that did not run, and at
// most twelve fields of each kind, for each Composition, unless all is true.
func WriteText(w io.Writer, r Report, all bool) error {
	out := bufio.NewWriter(w)
	t := text{out: out, most: most}
	if all {
		t.most = -1
	}
	for _, c := range r.Compositions {
		t.composition(c)
	}
	ran, of := r.count()
	t.line("coverage: %s of %s", formatPercent(ran, of), report.Count(of, "part"))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("printing the coverage: %w", err)
	}
	return nil
}

// formatPercent returns a share in percent, rounded down to a tenth: 100% means all.
func formatPercent(ran, all int) string {
	if all == 0 {
		return "none"
	}
	tenths := 1000 * ran / all
	if tenths%10 == 0 {
		return fmt.Sprintf("%d%%", tenths/10)
	}
	return fmt.Sprintf("%d.%d%%", tenths/10, tenths%10)
}

type text struct {
	out  *bufio.Writer
	most int
}

func (t text) line(format string, args ...any) {
	t.out.WriteString(report.Printable(fmt.Sprintf(format, args...)) + "\n")
}

func (t text) composition(c Composition) {
	ran, all := count(c.Parts)
	t.line("coverage of %s:%d %s: %s of %s, by %s", c.Path, c.Line, c.Name, formatPercent(ran, all), report.Count(all, "part"), report.Count(c.Cases, "case"))
	if kinds := countKinds(c.Parts); len(kinds) > 0 {
		t.line("    %s", strings.Join(kinds, ", "))
	}
	var missed []string
	for _, p := range c.Parts {
		if !p.Ran {
			missed = append(missed, fmt.Sprintf("%s:%d: not covered: %s", c.fileOf(p), p.Line, p.Describe()))
		}
	}
	t.list("parts", missed)
	if c.XRFields > 0 {
		t.line("    %d of %s of the composite resource set by a case%s", c.XRFields-len(c.UnsetXRFields), report.Count(c.XRFields, "field"), colon(c.UnsetXRFields, ", not"))
		t.list("fields", c.UnsetXRFields)
	}
	if c.ComposedFields == 0 {
		return
	}
	t.line("    %d of %s checked by an expectation%s", c.ComposedFields-len(c.UncheckedFields), report.Count(c.ComposedFields, "composed field"), colon(c.UncheckedFields, ", not"))
	unchecked := make([]string, len(c.UncheckedFields))
	for i, f := range c.UncheckedFields {
		unchecked[i] = f.Resource + ": " + f.Path
	}
	t.list("fields", unchecked)
}

func colon[T any](list []T, text string) string {
	if len(list) == 0 {
		return ""
	}
	return text + ":"
}

// list writes lines. It writes the number of the lines after the first t.most.
func (t text) list(what string, lines []string) {
	for i, l := range lines {
		if i == t.most {
			t.line("        and %d more %s", len(lines)-i, what)
			return
		}
		t.line("        %s", l)
	}
}

func countKinds(parts []Part) []string {
	byKind := map[sdk.PointKind][]Part{}
	for _, p := range parts {
		byKind[p.Kind] = append(byKind[p.Kind], p)
	}
	order := []sdk.PointKind{StepPart, sdk.ComposedTemplate, sdk.PatchPoint, sdk.TransformBranch, sdk.ReadinessCheck, sdk.TemplateBranch}
	var all []string
	for _, kind := range slices.SortedFunc(maps.Keys(byKind), func(a, b sdk.PointKind) int {
		return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
	}) {
		ran, of := count(byKind[kind])
		all = append(all, fmt.Sprintf("%s %d/%d", report.Plural(string(kind)), ran, of))
	}
	return all
}
