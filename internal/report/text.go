package report

import (
	"fmt"
	"io"
	"strings"
)

// Text writes the trace for people, in lines of at most 80 columns where names
// are not too long for that. Long values are cut. With color, it has the
// escape sequences of a terminal; nothing in a name or value gets one through.
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
	p.line("", Bold, fmt.Sprintf("%d. %s", number, strings.Join(stepFacts(s), " · ")))
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
	if s.quiet() {
		p.line("   ", Dim, "no changes")
	}
}

func stepFacts(s Step) []string {
	facts := []string{Printable(s.Name), Printable(s.Function)}
	if s.Runtime != "" {
		facts = append(facts, Printable(s.Runtime))
	}
	if s.Calls > 1 {
		facts = append(facts, Count(s.Calls, "call"))
	}
	return append(facts, Duration(s.Took))
}

// quiet reports whether there is nothing to tell of a step.
func (s Step) quiet() bool {
	return len(s.Changes)+len(s.ContextChanges)+len(s.Results)+len(s.Conditions) == 0 && s.Error == ""
}

// resource writes a line for the resource and one for each change of it.
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

func aside(words ...string) string {
	var said []string
	for _, w := range words {
		if w != "" {
			said = append(said, w)
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, ", ") + ")"
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
