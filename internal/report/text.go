package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Text writes the trace as text of 80 columns, unless names are too long. Long
// values are cut, and escape sequences in names and values are escaped.
func (t Trace) Text(w io.Writer, color bool) error {
	p := newPrinter(w, color)
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

// resource writes a line for a resource and its changes below it.
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
	return strings.ToLower(r.Severity) + ": " + r.Message + aside(r.Reason, r.Target)
}

// String returns "type=status: message (reason, target)".
func (c Condition) String() string {
	text := c.Type + "=" + c.Status
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text + aside(c.Reason, c.Target)
}

// aside returns the words that are not empty in parentheses, or "".
func aside(words ...string) string {
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
