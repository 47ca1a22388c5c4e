package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
)

func write(t testing.TB, title string, traces ...report.Trace) string {
	t.Helper()
	var b bytes.Buffer
	e2e.NoError(t, report.WritePage(&b, title, traces))
	return b.String()
}

// TestErrorLines: the lines of an error keep their indentation.
func TestErrorLines(t *testing.T) {
	cases := map[string]struct{ reason, err, want string }{
		"One":      {"a single line is one paragraph", "no owner", `Failed:</strong> <span class="words line depth-0">no owner</span></p>`},
		"End":      {"a trailing newline adds no line", "no owner\n", `Failed:</strong> <span class="words line depth-0">no owner</span></p>`},
		"Indented": {"four spaces are one level", "a\n    b\n          c", `depth-0">a</span> <span class="words line depth-1">b</span> <span class="words line depth-2">c</span>`},
		"Deep":     {"indentation is limited", "a\n" + strings.Repeat(" ", 80) + "b", `<span class="words line depth-4">b</span>`},
		"Hostile":  {"strings are escaped", "a\n<script>\x00", `<span class="words line depth-0">&lt;script&gt;\x00</span>`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Has(t, tc.reason, write(t, "x", report.Trace{Error: tc.err}), tc.want)
		})
	}
}

func TestWriteShows(t *testing.T) {
	html := write(t, "Render of storage.yaml", storage(), broken())
	cases := map[string]struct{ reason, want string }{
		"Title":       {"the title is the caller's", "<title>Render of storage.yaml</title>"},
		"Count":       {"the summary counts XRs", "2 composite resources"},
		"Failed":      {"the summary counts failed XRs", `<strong class="bad">1 failed</strong>`},
		"Link":        {"a card links to its step", `<a href="#xr-1-step-2">`},
		"Target":      {"a step has an id", `<details class="step" id="xr-1-step-2" open>`},
		"Runtime":     {"a card shows the runtime", `<span>Sandbox</span>`},
		"Calls":       {"a card shows calls and duration", `2 calls · 182 ms`},
		"Added":       {"a card counts added resources, with text for screen readers", `+3<span class="unseen"> resources added</span>`},
		"Warnings":    {"warnings have a badge", `<span class="badge warn">1 warning</span>`},
		"Quiet":       {"a step without changes has a message", `no changes`},
		"Path":        {"fields show their path", `<code class="path">metadata.labels[example.org/owner]</code>`},
		"Number":      {"numbers have the class of numbers", `<ins class="figure">365</ins>`},
		"Old":         {"changes show the old value", `<del class="figure">30</del>`},
		"Lines":       {"a text of several lines keeps its line breaks", "<ins class=\"lines\">{\n  &#34;Version&#34;"},
		"Secret":      {"connection details show their size", `<ins class="said">24 bytes</ins>`},
		"Ready":       {"readiness differs from fields", `<em class="path">ready</em>`},
		"Context":     {"context keys show", `[apiextensions.crossplane.io/environment].region`},
		"Requirement": {"requirements show", `EnvironmentConfig named &#34;production&#34;`},
		"Condition":   {"conditions show", `<strong>Hardened</strong> True`},
		"Error":       {"a failed render shows its error", `returned a fatal result: no owner`},
		"Message":     {"messages keep their line breaks", "no owner:\n\tset spec.owner"},
		"Badge":       {"fatal steps have a badge", `<span class="badge bad">fatal</span>`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Has(t, tc.reason, html, tc.want)
		})
	}
}

func TestWriteIsSelfContained(t *testing.T) {
	text := write(t, "Render", storage(), broken())
	for _, foreign := range []string{"http://", "https://", "src=", "@import", "url(", "<link", "<img", "<iframe"} {
		if strings.Contains(text, foreign) {
			t.Errorf("the page refers to an external resource: %q", foreign)
		}
	}
	for name, want := range map[string]string{"style": "style-src", "script": "script-src"} {
		m := regexp.MustCompile(`(?s)<`+name+`>(.*?)</`+name+`>`).FindAllStringSubmatch(text, -1)
		if len(m) != 1 {
			t.Fatalf("got %d %s elements, want 1", len(m), name)
		}
		sum := sha256.Sum256([]byte(m[0][1]))
		policy := want + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		e2e.Has(t, "the policy does not name the page's "+name, html.UnescapeString(text), policy)
	}
	e2e.Has(t, "the policy forbids loading resources", html.UnescapeString(text), `content="default-src 'none';`)
}

// TestWriteIsWellFormed parses the page as strict XML.
func TestWriteIsWellFormed(t *testing.T) {
	html := write(t, "Render", storage(), broken(), hostile(), report.Trace{XR: "none", Steps: []report.Step{}})
	html = regexp.MustCompile(`(?s)<script>.*</script>|<!DOCTYPE html>`).ReplaceAllString(html, "")
	html = regexp.MustCompile(`<(meta|input)([^>]*)>`).ReplaceAllString(html, "<$1$2/>")
	html = regexp.MustCompile(` (hidden|open|data-failed)([ >])`).ReplaceAllString(html, ` $1=""$2`)
	d := xml.NewDecoder(strings.NewReader(html))
	d.Entity = xml.HTMLEntity
	d.Strict = true
	seen := map[string]bool{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		e2e.NoError(t, err)
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			if a.Name.Local == "id" && seen[a.Value] {
				t.Errorf("id %q occurs twice", a.Value)
			}
			seen[a.Value] = seen[a.Value] || a.Name.Local == "id"
		}
	}
}

const (
	breakout = `</script><script>document.title="owned"</script><img src=x onerror=alert(1)>`
	link     = `javascript:document.title="owned"//`
	quotes   = `" onmouseover="document.title='owned'" x='`
	style    = `</style><style>body{display:none}`
	terminal = "\x1b[31mred\x1b[0m\u202eevil\x00"
)

// hostile returns a trace in which every external string contains markup.
func hostile() report.Trace {
	changes := func(s string) []report.Change {
		return []report.Change{
			{Path: s, Op: report.Added, New: s},
			{Path: s + "2", Op: report.Changed, Old: s, New: map[string]any{s: s}},
			{Path: s + "3", Op: report.Removed, Old: "two\nlines" + s},
		}
	}
	t := report.Trace{XR: breakout + quotes, Error: breakout}
	for _, s := range []string{breakout, link, quotes, style, terminal} {
		t.Steps = append(t.Steps, report.Step{
			Name: s, Function: s, Runtime: s, Calls: 1, Error: s,
			ContextChanges: changes(s),
			Changes: []report.ResourceChange{{
				Name: s, APIVersion: s, Kind: s, Op: report.Added, Fields: changes(s),
				Ready:             &report.Change{Path: "ready", Op: report.Changed, Old: s, New: s},
				ConnectionDetails: []report.Change{{Path: s, Op: report.Added, New: s}},
			}},
			Results:      []report.Result{{Severity: s, Message: s, Reason: s, Target: s}},
			Conditions:   []report.Condition{{Type: s, Status: s, Reason: s, Message: s, Target: s}},
			Requirements: []string{s},
		})
	}
	return t
}

func TestWriteEscapes(t *testing.T) {
	html := write(t, breakout, hostile())
	plain := write(t, "x")
	for _, tag := range []string{"<script", "</script", "<style", "</style", "<img", "<body"} {
		if got, want := strings.Count(html, tag), strings.Count(plain, tag); got != want {
			t.Errorf("got %d times %q, want %d: a string became markup", got, tag, want)
		}
	}
	tags := regexp.MustCompile(`<[a-zA-Z][^>]*>`).FindAllString(html, -1)
	for _, tag := range tags {
		outside := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag, "")
		if strings.Contains(outside, "onmouseover") || strings.Contains(outside, "onerror") {
			t.Errorf("a string became an attribute: %s", tag)
		}
		if m := regexp.MustCompile(`href="([^"]*)"`).FindStringSubmatch(tag); m != nil && !strings.HasPrefix(m[1], "#xr-") {
			t.Errorf("a string became a link: %s", tag)
		}
	}
	for _, r := range []string{"\x1b", "\u202e", "\x00"} {
		if strings.Contains(html, r) {
			t.Errorf("the page has a raw %q", r)
		}
	}
}

func TestWriteCutsLongValues(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	html := write(t, "Render", report.Trace{XR: "x", Steps: []report.Step{{
		Name: "s", Changes: []report.ResourceChange{{Name: "r", Op: report.Added, Fields: []report.Change{
			{Path: "line", Op: report.Added, New: long},
			{Path: "lines", Op: report.Added, New: "first\n" + long},
		}}},
		Results: []report.Result{{Severity: "Normal", Message: long}},
	}}})
	e2e.Equal(t, "each long value is cut", 3, strings.Count(html, " more bytes)"))
	if len(html) > 100_000 {
		t.Errorf("the page has %d bytes: long values are not cut", len(html))
	}
}

func TestWriteFoldsLargePages(t *testing.T) {
	large := report.Trace{XR: "x"}
	for i := range 200 {
		large.Steps = append(large.Steps, report.Step{Name: fmt.Sprint(i), Results: []report.Result{{Severity: "Normal", Message: "m"}}})
	}
	large.Steps[7].Error = "broken"
	e2e.Equal(t, "only the step that failed is open", 1, strings.Count(write(t, "Render", large), " open>"))
}

func TestWriteIsStable(t *testing.T) {
	first := write(t, "Render", storage(), broken())
	e2e.Equal(t, "two pages of the same traces differ", first, write(t, "Render", storage(), broken()))
}

func BenchmarkWrite(b *testing.B) {
	traces := make([]report.Trace, 100)
	for i := range traces {
		traces[i] = storage()
		traces[i].Steps[0].Took = time.Duration(i) * time.Millisecond
	}
	for b.Loop() {
		e2e.NoError(b, report.WritePage(io.Discard, "Render", traces))
	}
}
