package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
)

// A Style is how a text is written. The zero value is for files and pipes.
type Style struct {
	Color bool
	// Columns is the width at which texts are wrapped and values are shortened. 0 means no limit.
	Columns int
}

// columns is the width below which a change is written on one line if there is no limit.
const columns = 80

// longestMessage limits the bytes of a function's message on a terminal.
const longestMessage = 4000

func colorOf(o Op) Color {
	switch o {
	case Added:
		return Green
	case Removed:
		return Red
	}
	return Yellow
}

// A printer writes lines. The first error of its writer is returned by Flush.
type printer struct {
	out *bufio.Writer
	Style
}

func newPrinter(w io.Writer, s Style) *printer {
	return &printer{bufio.NewWriter(w), s}
}

// line writes one line. The text must be printable.
func (p *printer) line(indent string, color Color, text string) {
	if p.Color {
		text = color.Paint(text)
	}
	p.out.WriteString(indent + text + "\n")
}

// message writes a text of a function, escaped and wrapped.
func (p *printer) message(indent string, color Color, text string) {
	const hang = "    "
	first, width := indent, math.MaxInt
	if p.Columns > 0 {
		text, width = Cut(text, longestMessage), p.Columns-len(indent)-len(hang)
	}
	for paragraph := range strings.SplitSeq(text, "\n") {
		for _, l := range Wrap(Printable(paragraph), width) {
			p.line(first, color, l)
			first = indent + hang
		}
	}
}

func (p *printer) changes(indent string, changes []Change) {
	for _, c := range changes {
		for _, l := range p.changeLines(c, len(indent)) {
			p.line(indent, colorOf(c.Op), l)
		}
		if c.Step != "" {
			p.line(indent+"    ", Dim, "set by step "+Printable(c.Step))
		}
	}
}

// changeLines returns a change on one line if it fits after an indent, otherwise on several.
func (p *printer) changeLines(c Change, indent int) []string {
	room, below := cmp.Or(p.Columns, columns)-indent, 0
	limit := 0
	if p.Columns > 0 {
		limit, below = room, room-len("    - ")
	}
	label := c.Op.Sign()
	if c.Path != "" {
		label += " " + Printable(c.Path) + ":"
	}
	left := room - utf8.RuneCountInString(label) - 1
	if c.Op == Changed {
		short := Text(c.Old, limit) + " → " + Text(c.New, limit)
		if utf8.RuneCountInString(short) <= left {
			return []string{label + " " + short}
		}
		was, is := differingParts(c.Old, c.New, below)
		return []string{label, "    - " + was, "    + " + is}
	}
	v := c.New
	if c.Op == Removed {
		v = c.Old
	}
	text := Text(v, below)
	if utf8.RuneCountInString(text) <= left {
		return []string{label + " " + text}
	}
	return []string{label, "      " + text}
}

// differingParts returns two values as texts of at most limit columns, or whole if
// limit is 0. It omits the common prefix of long strings, so that the difference is visible.
func differingParts(before, after any, limit int) (was, is string) {
	const context = 10
	a, isString := before.(string)
	b, both := after.(string)
	if !isString || !both || limit == 0 || max(len(a), len(b)) <= limit-2 {
		return Text(before, limit), Text(after, limit)
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from := same - context
	for from > 0 && !utf8.RuneStart(a[from]) {
		from--
	}
	if from <= 1 {
		return Text(a, limit), Text(b, limit)
	}
	return "…" + Text(a[from:], limit-1), "…" + Text(b[from:], limit-1)
}

// note writes a change of a property that is not a field, such as the readiness. It
// writes the values without quotes.
func (p *printer) note(indent, what string, c Change) {
	words := fmt.Sprint(c.New)
	switch c.Op {
	case Removed:
		words = fmt.Sprint(c.Old)
	case Changed:
		words = fmt.Sprint(c.Old) + " → " + words
	}
	p.line(indent, colorOf(c.Op), c.Op.Sign()+" ["+what+"]: "+Printable(words))
}

// A Color is a color or style of a terminal. The zero value means no color.
type Color string

// The colors and styles of texts.
const (
	Bold   Color = "\x1b[1m"
	Dim    Color = "\x1b[2m"
	Red    Color = "\x1b[31m"
	Green  Color = "\x1b[32m"
	Yellow Color = "\x1b[33m"
)

// ResetColor ends a color.
const ResetColor = "\x1b[0m"

// Paint returns text in the color.
func (c Color) Paint(text string) string {
	if c == "" {
		return text
	}
	return string(c) + text + ResetColor
}

// An Op is the kind of a change.
type Op = fieldpath.Op

// The kinds of changes.
const (
	Added   = fieldpath.Added
	Removed = fieldpath.Removed
	Changed = fieldpath.Changed
)

// A Change is a difference in one field.
type Change = fieldpath.Change

// Text writes the trace as text. Lines are longer than s.Columns only if names are too long.
// Escape sequences in names and values are escaped.
func (t Trace) Text(w io.Writer, s Style) error {
	p := newPrinter(w, s)
	p.line("", Bold, Printable(t.XR))
	for i, s := range t.Steps {
		p.line("", "", "")
		p.step(i+1, s)
	}
	if t.Error != "" {
		p.line("", "", "")
		p.message("", Red, "error: "+t.Error)
	}
	return p.out.Flush()
}

func (p *printer) step(number int, s Step) {
	facts := []string{Printable(s.Name), Printable(s.Function)}
	if s.Runtime != "" {
		facts = append(facts, Printable(s.Runtime))
	}
	if s.Calls > 1 {
		facts = append(facts, Count(s.Calls, "call"))
	}
	facts = append(facts, Duration(s.Took))
	p.line("", Bold, fmt.Sprintf("%d. %s", number, strings.Join(facts, " · ")))
	for _, r := range s.Changes {
		p.resource("   ", r)
	}
	if len(s.ContextChanges) > 0 {
		p.line("   ", "", "context")
		p.changes("     ", s.ContextChanges)
	}
	for _, r := range s.Requirements {
		p.message("   ", "", "requires "+r)
	}
	for _, c := range s.Conditions {
		p.message("   ", "", "condition "+c.String())
	}
	for _, r := range s.Results {
		p.message("   ", severityColor(r.Severity), r.String())
	}
	if s.Error != "" {
		p.message("   ", Red, "error: "+s.Error)
	}
	if len(s.Changes)+len(s.ContextChanges)+len(s.Results)+len(s.Conditions) == 0 && s.Error == "" {
		p.line("   ", Dim, "no changes")
	}
}

func (p *printer) resource(indent string, r ResourceChange) {
	text := Printable(r.Title())
	if id := strings.TrimSpace(r.APIVersion + " " + r.Kind); id != "" {
		text += " (" + Printable(id) + ")"
	}
	p.line(indent, colorOf(r.Op), r.Op.Sign()+" "+text)
	p.changes(indent+"    ", r.Fields)
	if r.Ready != nil {
		p.note(indent+"    ", "ready", *r.Ready)
	}
	for _, c := range r.ConnectionDetails {
		p.note(indent+"    ", "connection detail "+Printable(c.Path), c)
	}
}

// String returns "severity: message (reason, target)".
func (r Result) String() string {
	return strings.ToLower(r.Severity) + ": " + r.Message + inParentheses(r.Reason, r.Target)
}

// String returns "type=status: message (reason, target)".
func (c Condition) String() string {
	text := c.Type + "=" + c.Status
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text + inParentheses(c.Reason, c.Target)
}

// inParentheses returns the words that are not empty in parentheses, or "".
func inParentheses(words ...string) string {
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

func severityColor(severity string) Color {
	switch severity {
	case "Fatal":
		return Red
	case "Warning":
		return Yellow
	}
	return ""
}
