package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A JUnitSuite is a group of cases.
type JUnitSuite struct {
	Name string
	// Seconds is the duration of the suite. WriteJUnit also writes a duration of zero.
	Seconds float64
	Cases   []JUnitCase
}

// A JUnitCase is the result of a test. It passed if there is no Failure or Skipped.
type JUnitCase struct {
	// Name is the name of the test. Class is its group, such as a file.
	Name, Class string
	Seconds     float64
	Failure     *JUnitFailure
	// Skipped is the reason why the case did not run, or empty.
	Skipped string
	Output  string
}

// A JUnitFailure is the reason why a case failed.
type JUnitFailure struct {
	// Message is one line. Text is the full description.
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes suites as one XML document. Bytes that XML does not allow
// are written as Go escapes, such as "\x1b". It returns only errors of w.
func WriteJUnit(w io.Writer, suites []JUnitSuite) error {
	doc := document{Suites: make([]suite, len(suites))}
	for i, s := range suites {
		doc.Suites[i] = newSuite(s)
		doc.Tests += doc.Suites[i].Tests
		doc.Failures += doc.Suites[i].Failures
		doc.Skipped += doc.Suites[i].Skipped
	}
	_, err := io.WriteString(w, xml.Header)
	if err == nil {
		enc := xml.NewEncoder(w)
		enc.Indent("", "  ")
		err = enc.Encode(doc)
	}
	if err == nil {
		_, err = io.WriteString(w, "\n")
	}
	if err != nil {
		return fmt.Errorf("writing a report: %w", err)
	}
	return nil
}

// counts are the attributes of a suite and of the whole document.
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
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *JUnitFailure `xml:"failure"`
	Skipped *skipped      `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
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
			tc.Failure = &JUnitFailure{visible(c.Failure.Message), visible(c.Failure.Text)}
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

// visible escapes what XML 1.0 does not allow.
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
