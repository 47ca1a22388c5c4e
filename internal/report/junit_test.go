package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
)

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	err := report.WriteJUnit(&b, []report.JUnitSuite{
		{Name: "a.yaml", Seconds: 1.25, Cases: []report.JUnitCase{
			{Name: "passes", Class: "a", Seconds: 1, Output: "seen"},
			{Name: "fails", Class: "a", Failure: &report.JUnitFailure{Message: `is "<1>"`, Text: "spec.size: is <1>\nand & more"}},
			{Name: "waits", Class: "a", Skipped: "no schema"},
		}},
		{Name: "empty"},
	})
	e2e.NoError(t, err)
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" skipped="1">
  <testsuite name="a.yaml" tests="3" failures="1" errors="0" skipped="1" time="1.250">
    <testcase name="passes" classname="a" time="1.000">
      <system-out>seen</system-out>
    </testcase>
    <testcase name="fails" classname="a" time="0.000">
      <failure message="is &#34;&lt;1&gt;&#34;">spec.size: is &lt;1&gt;&#xA;and &amp; more</failure>
    </testcase>
    <testcase name="waits" classname="a" time="0.000">
      <skipped message="no schema"></skipped>
    </testcase>
  </testsuite>
  <testsuite name="empty" tests="0" failures="0" errors="0" skipped="0" time="0.000"></testsuite>
</testsuites>
`
	e2e.Equal(t, "the report has the XML of all suites and cases", want, b.String())
}

// TestWriteOddText: the report is valid XML for any text, and shows each byte.
func TestWriteOddText(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Control":   {"control characters that XML 1.0 does not allow are escaped", "\x1b[31mred\x00", `\x1b[31mred\x00`},
		"Blank":     {"allowed control characters are unchanged", "a\tb\nc\r", "a\tb\nc\r"},
		"NotUTF8":   {"a byte that is not UTF-8 is escaped", "a\xffb", `a\xffb`},
		"Replaced":  {"a replacement character in the text is unchanged", "a\uFFFDb", "a\uFFFDb"},
		"NoRune":    {"code points that XML 1.0 does not allow are escaped", "a\uFFFEb\uFFFF", `a\ufffeb\uffff`},
		"EndOfData": {"the end mark of a CDATA section is escaped", "]]>", "]]>"},
		"Wide":      {"other characters are unchanged", "ß🙂", "ß🙂"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			err := report.WriteJUnit(&b, []report.JUnitSuite{{Name: tc.text, Cases: []report.JUnitCase{
				{Name: tc.text, Class: tc.text, Output: tc.text, Failure: &report.JUnitFailure{Message: tc.text, Text: tc.text}},
			}}})
			e2e.NoError(t, err)
			var got struct {
				Suite struct {
					Name string `xml:"name,attr"`
					Case struct {
						Name    string `xml:"name,attr"`
						Class   string `xml:"classname,attr"`
						Out     string `xml:"system-out"`
						Failure struct {
							Message string `xml:"message,attr"`
							Text    string `xml:",chardata"`
						} `xml:"failure"`
					} `xml:"testcase"`
				} `xml:"testsuite"`
			}
			e2e.NoError(t, xml.Unmarshal(b.Bytes(), &got))
			c := got.Suite.Case
			for _, s := range []string{got.Suite.Name, c.Name, c.Class, c.Out, c.Failure.Message, c.Failure.Text} {
				e2e.Equal(t, tc.reason, tc.want, s)
			}
		})
	}
}

// full is a writer that accepts n bytes.
type full struct{ n int }

func (f *full) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	for _, room := range []int{0, 60, 180} {
		err := report.WriteJUnit(&full{room}, []report.JUnitSuite{{Name: "a"}})
		if !errors.Is(err, io.ErrShortWrite) || !strings.HasPrefix(err.Error(), "writing a report: ") {
			t.Errorf("with room for %d bytes: got %v", room, err)
		}
	}
}
