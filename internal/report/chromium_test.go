package report_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
)

// chromium returns the path of the browser. Without a browser it skips the
// test, or fails it if XFN_REQUIRE names chromium.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		e2e.Missing(t, "chromium", "chromium is not installed: %v", err)
	}
	return path
}

func artifacts(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("XFN_ARTIFACTS")
	if dir == "" {
		return t.TempDir()
	}
	dir = e2e.Must(filepath.Abs(dir))(t)
	e2e.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}

// browse opens a file in the browser, and returns the output of the browser.
func browse(t *testing.T, file string, args ...string) string {
	t.Helper()
	// Not b.TempDir: child processes of the browser may still write to the profile
	// after the browser has exited, so removing it may fail.
	profile := e2e.Must(os.MkdirTemp("", "chromium-*"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-dev-shm-usage", "--hide-scrollbars", "--virtual-time-budget=2000",
		"--user-data-dir=" + profile,
	}, args...)
	cmd := exec.CommandContext(e2e.Context(t), chromium(t), append(args, "file://"+file)...)
	cmd.WaitDelay = 10 * time.Second
	return e2e.Output(t, cmd)
}

func save(t *testing.T, html string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	e2e.WriteFile(t, file, html)
	return file
}

// A visit is a page with a second script that simulates a user, and passes its observations
// to see.
type visit struct {
	html, script string
	// fragment is "#" and the id of an element to which the page is opened, or empty.
	fragment string
}

// observe opens pages in frames of the size of a phone, because a window has a minimum width.
// One browser shows them all, because its start takes a second. observe changes the content
// security policies of the pages to allow the second script. It returns the observations by the
// names of the pages.
func observe(t *testing.T, pages map[string]visit) map[string]string {
	t.Helper()
	dir := t.TempDir()
	outer := `<body><script>onmessage = (e) => { for (const f of document.querySelectorAll("iframe")) if (f.contentWindow === e.source) f.dataset.seen = e.data; }</script>`
	for name, v := range pages {
		html := regexp.MustCompile(`script-src [^"]*"`).ReplaceAllString(v.html, `script-src 'unsafe-inline'"`)
		html = strings.Replace(html, "</body>", `<script>
const visible = (s) => [...document.querySelectorAll(s)].filter((e) => e.checkVisibility()).length;
const type = (s) => { const i = document.querySelector("input"); i.value = s; i.form.requestSubmit(); };
const see = (...what) => { parent.postMessage(what.join(" "), "*"); };
`+v.script+`</script></body>`, 1)
		e2e.WriteFile(t, filepath.Join(dir, name+".html"), html)
		outer += `<iframe width="360" height="740" style="border:0;position:absolute;top:0;left:0" src="` + name + ".html" + v.fragment + `"></iframe>`
	}
	file := filepath.Join(dir, "frames.html")
	e2e.WriteFile(t, file, outer+"</body>")
	seen := map[string]string{}
	for _, m := range regexp.MustCompile(`src="(\w+)\.html[^"]*" data-seen="([^"]*)"`).FindAllStringSubmatch(browse(t, file, "--dump-dom"), -1) {
		seen[m[1]] = m[2]
	}
	return seen
}

func TestPictures(t *testing.T) {
	file, dir := save(t, write(t, "Render of storage.yaml", storage(), broken())), artifacts(t)
	cases := map[string][]string{
		"desktop.png": {"--window-size=1280,900"},
		"dark.png":    {"--window-size=1280,900", "--blink-settings=preferredColorScheme=0"},
		"phone.png":   {"--window-size=360,740"},
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			picture := filepath.Join(dir, "trace-"+name)
			browse(t, file, append(args, "--screenshot="+picture)...)
			if info, err := os.Stat(picture); err != nil || info.Size() < 10_000 {
				t.Errorf("the screenshot is missing or too small: %v, %v", info, err)
			}
		})
	}
	t.Run("print.pdf", func(t *testing.T) {
		pdf := filepath.Join(dir, "trace-print.pdf")
		browse(t, file, "--no-pdf-header-footer", "--print-to-pdf="+pdf)
		if info, err := os.Stat(pdf); err != nil || info.Size() < 10_000 {
			t.Errorf("the PDF is missing or too small: %v, %v", info, err)
		}
	})
}

// TestScriptRuns opens the unchanged page with its own policy.
func TestScriptRuns(t *testing.T) {
	dom := browse(t, save(t, write(t, "Render", storage(), broken())), "--dump-dom")
	for want, reason := range map[string]string{
		`class="scripted"`:           "the policy allows the page's script",
		`All 2 composite resources`:  "the script fills the selection of XRs",
		`✗ platform.example.org/v1 `: "the selection marks XRs that failed",
	} {
		e2e.Has(t, reason, dom, want)
	}
}

func TestHostileStringsStayStrings(t *testing.T) {
	dom := browse(t, save(t, write(t, "harmless", hostile(), broken())), "--dump-dom")
	e2e.Has(t, "a string does not run as a script", dom, "<title>harmless</title>")
	e2e.Has(t, "a string does not stop the script of the page", dom, `class="scripted"`)
}

func TestUse(t *testing.T) {
	cases := map[string]struct {
		reason, fragment, script, want string
		large                          bool
	}{
		"Whole": {reason: "all rows are visible without a search", script: `see(visible(".row"), visible("details.step"), visible(".nothing"))`, want: "41 6 0"},
		"Field": {
			reason: "a search finds a field in all steps and XRs that change it",
			script: `type("retention.days"); see(visible(".row"), visible("details.step"), document.querySelector("output").textContent)`,
			want:   "3 3 3 matches",
		},
		"Words":   {reason: "a search matches rows with all words, in any order", script: `type("365 BUCKET"); see(visible(".row"), visible(".xr"))`, want: "1 1"},
		"Nothing": {reason: "a search without matches shows a message", script: `type("unobtainium"); see(visible(".row"), visible(".nothing"))`, want: "0 1"},
		"Cleared": {
			reason: "clearing a search restores folded parts",
			script: `document.querySelector("[data-fold='']").click(); type("bucket"); const during = visible(".row"); type(""); see(during > 10, visible(".row"))`,
			want:   "true 0",
		},
		"Unfold": {
			reason: "a large page is folded until the user unfolds it",
			script: `const before = visible(".row"); document.querySelector("[data-fold=open]").click(); see(before, visible(".row") > 150)`,
			want:   "0 true",
			large:  true,
		},
		"Link": {
			reason:   "a link to a step unfolds it",
			fragment: "#xr-1-step-3",
			script:   `see(document.querySelectorAll("details.step[open]").length)`,
			want:     "1",
			large:    true,
		},
		"Pick": {
			reason: "selecting one XR keeps the search",
			script: `const p = document.querySelector("select"); p.value = "xr-2"; p.dispatchEvent(new Event("change")); type("retention.days"); see(visible(".xr"), visible(".row"))`,
			want:   "1 1",
		},
		"Keys": {
			reason: "the slash key focuses the search box, and Escape clears it",
			script: `const key = (k) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true}));
				key("/"); const inBox = document.activeElement.tagName; type("unobtainium"); key("Escape"); see(inBox, visible(".row"))`,
			want: "INPUT 41",
		},
	}
	pages := map[string]visit{}
	for name, tc := range cases {
		traces := []report.Trace{storage(), broken()}
		for tc.large && len(traces) < 10 {
			traces = append(traces, storage())
		}
		if tc.large {
			traces = append(traces[:1], traces[2:]...) // A failed step is always unfolded, so leave its trace out.
		}
		pages[name] = visit{html: write(t, "Render", traces...), script: tc.script, fragment: tc.fragment}
	}
	seen := observe(t, pages)
	for name, tc := range cases {
		e2e.Equal(t, name+": "+tc.reason, tc.want, seen[name])
	}
}

// TestNarrow checks that no page is wider than the screen of a phone.
func TestNarrow(t *testing.T) {
	pages := map[string]visit{}
	for name, trace := range map[string]report.Trace{"Fine": storage(), "Broken": broken(), "Hostile": hostile()} {
		pages[name] = visit{html: write(t, "Render", trace), script: `
			for (const d of document.querySelectorAll("details")) d.open = true;
			see(innerWidth, document.documentElement.scrollWidth);`}
	}
	seen := observe(t, pages)
	for name := range pages {
		e2e.Equal(t, name+": on a phone the page must be as wide as the screen, 360 pixels", "360 360", seen[name])
	}
}
