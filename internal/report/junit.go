package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Suite is a group of cases.
type JUnitSuite struct {
	Name string
	// Seconds is how long it took. Zero is written, too.
	Seconds float64
	Cases   []JUnitCase
}

// A Case is one test and how it ended: it passed if it has neither a Failure nor
// a reason why it was Skipped.
type JUnitCase struct {
	// Name says which test, and Class what it belongs to, such as a file.
	Name, Class string
	Seconds     float64
	Failure     *JUnitFailure
	// Skipped is why the case did not run, or empty.
	Skipped string
	// Output is what the case printed.
	Output string
}

// A Failure is what a case failed with.
type JUnitFailure struct {
	// Message is one line, and Text all there is to say.
	Message, Text string
}

// WriteJUnit writes suites as one XML document, in their order. What XML cannot hold
// in the texts is written as Go would: "\x1b" for an escape character, "\xff" for
// a byte that is not UTF-8. Its errors are those of w.
func WriteJUnit(w io.Writer, suites []JUnitSuite) error {
	doc := document{Suites: make([]suite, len(suites))}
	for i, s := range suites {
		doc.Suites[i] = newSuite(s)
		doc.Tests += doc.Suites[i].Tests
		doc.Failures += doc.Suites[i].Failures
		doc.Skipped += doc.Suites[i].Skipped
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("writing a report: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("writing a report: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("writing a report: %w", err)
	}
	return nil
}

// counts are the attributes that suites have, and all of them together.
type counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type document struct {
	XMLName xml.Name `xml:"testsuites"`
	counts
	Suites []suite `xml:"testsuite"`
}

type suite struct {
	Name string `xml:"name,attr"`
	counts
	Time  string     `xml:"time,attr"`
	Cases []testcase `xml:"testcase"`
}

type testcase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr"`
	Failure *failure `xml:"failure"`
	Skipped *skipped `xml:"skipped"`
	Output  string   `xml:"system-out,omitempty"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type skipped struct {
	Message string `xml:"message,attr"`
}

func newSuite(s JUnitSuite) suite {
	out := suite{Name: visible(s.Name), Time: seconds(s.Seconds), Cases: make([]testcase, len(s.Cases))}
	out.Tests = len(s.Cases)
	for i, c := range s.Cases {
		tc := testcase{Name: visible(c.Name), Class: visible(c.Class), Time: seconds(c.Seconds), Output: visible(c.Output)}
		if c.Failure != nil {
			tc.Failure = &failure{visible(c.Failure.Message), visible(c.Failure.Text)}
			out.Failures++
		}
		if c.Skipped != "" {
			tc.Skipped = &skipped{visible(c.Skipped)}
			out.Skipped++
		}
		out.Cases[i] = tc
	}
	return out
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

// visible replaces what may not stand in XML 1.0.
func visible(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < ' ' && r != '\t' && r != '\n' && r != '\r':
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == 0xFFFE || r == 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
