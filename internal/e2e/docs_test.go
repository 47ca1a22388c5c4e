package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

// TestDocs runs the console blocks of the documentation: the output that a page
// shows is the output of its commands. Each page is a shell session in a directory
// of its own, where:
//
//   - a line that begins with "$ " is a command, and goes on after a backslash
//   - the other lines are its output, both stdout and stderr; "…" stands for any
//     text of a line, and a line "…" for any lines
//   - a command that ends with "&" runs until the end of the page, and its first
//     line of output is read
//   - a block whose fence names a file, as "```yaml xr.yaml", becomes that file
//     before the next command runs
//   - if a command names examples/, that is a copy of the folder of this repository
//   - 127.0.0.1:5000 is a free port, in files too, and /home/ada the page's directory
//   - "<!-- needs: linux -->" skips the page on other systems
func TestDocs(t *testing.T) {
	root := e2e.Must(filepath.Abs("../.."))(t)
	var pages int
	for _, path := range markdownFiles(t, root) {
		text := e2e.ReadFile(t, path)
		steps, err := readPage(text)
		e2e.WantError(t, path+" has valid blocks", err, "")
		if len(steps) == 0 {
			continue
		}
		pages++
		name, _ := filepath.Rel(root, path)
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" && strings.Contains(text, "<!-- needs: linux -->") {
				t.Skip("the page runs functions from packages, which contain programs for Linux")
			}
			runPage(t, root, steps)
		})
	}
	if pages < 8 {
		t.Errorf("only %d pages have console blocks", pages)
	}
}

// CONTRIBUTING.md says in which files something is added, so these files exist.
func TestPathsInContributing(t *testing.T) {
	const root = "../.."
	paths := regexp.MustCompile("`((?:\\.ci|cmd|examples|init|internal|push|render|templates|testdata|tools|xpkg)/[^` ]+)`")
	found := paths.FindAllStringSubmatch(e2e.ReadFile(t, root, "CONTRIBUTING.md"), -1)
	if len(found) < 20 {
		t.Errorf("found only %d paths", len(found))
	}
	for _, m := range found {
		e2e.WantError(t, "the page names a file that does not exist", e2e.Err(os.Stat(filepath.Join(root, m[1]))), "")
	}
}

// markdownFiles returns the pages that may have console blocks.
func markdownFiles(t *testing.T, root string) (files []string) {
	t.Helper()
	for _, dir := range []string{".", "docs", "examples"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && dir == "." && path != root:
				return filepath.SkipDir
			case strings.HasSuffix(path, ".md"):
				files = append(files, path)
			}
			return nil
		})
		e2e.NoError(t, err)
	}
	return files
}

// A step is a command and its output, or a file to write.
type step struct {
	line               int
	command, output    string
	file, text         string
	background, isFile bool
}

// readPage returns the steps of a page, or none if it has no commands.
func readPage(page string) (steps []step, err error) {
	fence := ""
	commands := false
	for i, line := range strings.Split(page, "\n") {
		last := len(steps) - 1
		switch {
		case strings.HasPrefix(line, "```") && fence == "":
			fence = line
			if _, name, ok := strings.Cut(line, " "); ok {
				steps = append(steps, step{line: i + 1, file: name, isFile: true})
			}
		case line == "```":
			fence = ""
		case strings.Contains(fence, " "):
			steps[last].text += line + "\n"
		case fence != "```console":
		case strings.HasPrefix(line, "$ "):
			commands = true
			steps = append(steps, step{line: i + 1, command: line[2:], background: strings.HasSuffix(line, " &")})
		case last < 0 || steps[last].isFile:
			return nil, fmt.Errorf("line %d: a console block must begin with a command", i+1)
		case steps[last].output == "" && strings.HasSuffix(steps[last].command, `\`):
			steps[last].command += "\n" + line
		default:
			steps[last].output += line + "\n"
		}
	}
	if !commands {
		return nil, nil
	}
	return steps, nil
}

// mark separates the output of commands.
const mark = "\x1e"

// script returns a shell program for all steps.
func script(steps []step) string {
	var b strings.Builder
	b.WriteString("exec 2>&1\npids=\ntrap 'for p in $pids; do kill \"$p\"; wait \"$p\"; done' EXIT\n")
	for i, s := range steps {
		if s.isFile {
			fmt.Fprintf(&b, "mkdir -p \"$(dirname %s)\"\ncp \"$STEPS/%d\" %s\n", s.file, i, s.file)
			continue
		}
		fmt.Fprintf(&b, "printf '\\036'\n")
		if !s.background {
			fmt.Fprintln(&b, s.command)
			continue
		}
		// The shell's read waits for the first line of the command's output.
		fmt.Fprintf(&b, "mkfifo \"$STEPS/%[1]d\"\n%[2]s >\"$STEPS/%[1]d\" 2>&1 &\npids=\"$pids $!\"\nexec 9<\"$STEPS/%[1]d\"\nread -r line <&9\nprintf '%%s\\n' \"$line\"\n",
			i, strings.TrimSuffix(s.command, "&"))
	}
	return b.String()
}

func runPage(t *testing.T, root string, steps []step) {
	t.Helper()
	dir, files := t.TempDir(), t.TempDir()
	if slices.ContainsFunc(steps, func(s step) bool { return strings.Contains(s.command, "examples/") }) {
		e2e.NoError(t, os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))))
	}
	const shown = "127.0.0.1:5000"
	port := freeAddress(t)
	for i, s := range steps {
		if s.isFile {
			text := strings.ReplaceAll(s.text, shown, port)
			e2e.WriteFile(t, filepath.Join(files, fmt.Sprint(i)), text)
		}
	}
	env := pageEnvironment(t, dir, files)
	if slices.ContainsFunc(steps, func(s step) bool { return strings.Contains(s.command, initGo) }) {
		e2e.NoError(t, compileTemplate(t, env))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(script(steps), shown, port))
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
	cmd.Env = env
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); ctx.Err() != nil {
		t.Fatalf("the page did not end: %v\n%s", err, out.String())
	}
	outputs := strings.Split(strings.NewReplacer(port, shown, dir, "/home/ada").Replace(out.String()), mark)[1:]
	for _, s := range steps {
		if s.isFile {
			continue
		}
		if len(outputs) == 0 {
			t.Fatalf("line %d: the command did not run: %s", s.line, s.command)
		}
		compareOutput(t, s, outputs[0])
		outputs = outputs[1:]
	}
}

// compareOutput compares the output on a page with the output of the command.
func compareOutput(t *testing.T, s step, got string) {
	t.Helper()
	var pattern strings.Builder
	for line := range strings.Lines(s.output) {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	got = regexp.MustCompile(`(?m)^note: still compiling .*\n`).ReplaceAllString(got, "") // The cache of Go may be empty.
	if !regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(got) {
		t.Errorf("line %d: $ %s\n(-page +output):\n%s", s.line, s.command, cmp.Diff(s.output, got))
	}
}

// freeAddress returns an unused address of the loopback interface.
func freeAddress(t testing.TB) string {
	t.Helper()
	return e2e.Must(runtimes.FreeAddress(t.Context()))(t)
}

// pageEnvironment returns an environment with xfn first on the path and the caches of the
// go command, without other settings of the user. The go command has the same environment
// as in scripts, so that pages and scripts share compiled programs.
func pageEnvironment(t *testing.T, dir, files string) []string {
	t.Helper()
	values, err := goEnv()
	if err = errors.Join(err, sharePrograms(dir)); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + filepath.Dir(e2e.Binary(t)) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "DOCKER_HOST=unix://" + dir + "/no-engine.sock", "NO_COLOR=1", "STEPS=" + files,
	}
	for i, key := range goVariables {
		env = append(env, key+"="+values[i])
	}
	return env
}

// TestDocsLinks checks that the files and headings of links between pages exist.
func TestDocsLinks(t *testing.T) {
	root := e2e.Must(filepath.Abs("../.."))(t)
	links := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range markdownFiles(t, root) {
		text := e2e.ReadFile(t, page)
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), filepath.FromSlash(target))
			}
			if !hasHeading(path, heading) {
				t.Errorf("%s: the target of link %s does not exist", page, m[1])
			}
		}
	}
}

// hasHeading reports whether a file exists and, unless fragment is empty, has the heading.
func hasHeading(path, fragment string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		info, err := os.Stat(path)
		return err == nil && info.IsDir() && fragment == ""
	}
	for line := range strings.Lines(string(text)) {
		title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		title = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(title, "")
		if fragment == "" || strings.HasPrefix(line, "#") && strings.ReplaceAll(title, " ", "-") == fragment {
			return true
		}
	}
	return false
}
