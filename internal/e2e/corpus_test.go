package e2e_test

import (
	"context"
	"encoding/json"
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

	"github.com/moby/moby/client"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/xpkg"
)

// corpus has package roots, and the results of the crossplane CLI's build.
const corpus = "../../testdata/golden/xpkg/build"

// A difference is an element of testdata/golden/differences.yaml about a package.
type difference struct{ Case, Mode, Fault, Rule, Differs string }

// TestPackageCorpus builds each case with --lint=warn and with the default level. The
// result must be the same as with the crossplane CLI. If differences.yaml lists the
// case, it must differ.
func TestPackageCorpus(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("creating links requires a privilege on Windows")
	}
	t.Parallel()
	known := knownDifferences(t, "build")
	cases, err := os.ReadDir(corpus)
	if err != nil || len(cases) == 0 {
		t.Fatalf("found %d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		name := c.Name()
		listed, ok := known[name]
		delete(known, name)
		t.Run(name+"/warn", func(t *testing.T) {
			t.Parallel()
			comparePackage(t, name, ok && listed.Mode == "both", "--lint=warn")
		})
		t.Run(name+"/default", func(t *testing.T) {
			t.Parallel()
			comparePackage(t, name, ok)
		})
	}
	for name := range known {
		t.Errorf("differences.yaml names %q, which is not a case", name)
	}
}

// reasons are the valid values of the field fault in the lists of differences.yaml, by
// the key of the list. DIFFERENCES.md explains these faults of the crossplane CLI.
var reasons = map[string][]string{
	"build": {
		"output-in-place", "broken-runtime", "last-line-length", "image-id", "needless-refusal", "ignore-patterns", "links-out-of-root",
	},
	"push": {"broken-runtime", "platform-variants", "image-without-platform", "comma-lists"},
}

// knownDifferences reads a list of differences.yaml, by case. Each has one reason:
// a fault or, in the mode default, a lint rule.
func knownDifferences(t *testing.T, list string) map[string]difference {
	t.Helper()
	listed := map[string]json.RawMessage{}
	e2e.NoError(t, yaml.Unmarshal([]byte(e2e.ReadFile(t, "../../testdata/golden/differences.yaml")), &listed))
	var all []difference
	e2e.NoError(t, json.Unmarshal(listed[list], &all))
	isRule := func(name string) bool {
		return slices.ContainsFunc(xpkg.LintRules(), func(r xpkg.LintRule) bool { return r.Name == name })
	}
	known := map[string]difference{}
	for _, d := range all {
		if !slices.Contains(reasons[list], d.Fault) && !(d.Mode == "default" && d.Fault == "" && isRule(d.Rule)) || d.Differs == "" {
			t.Errorf("differences.yaml: %s: got fault %q and rule %q in mode %q, want one reason and a description of the difference", d.Case, d.Fault, d.Rule, d.Mode)
		}
		if _, twice := known[d.Case]; twice {
			t.Errorf("differences.yaml names %q twice", d.Case)
		}
		known[d.Case] = d
	}
	return known
}

// comparePackage builds a case and compares the result.
func comparePackage(t *testing.T, name string, listed bool, flags ...string) {
	dir := e2e.Must(filepath.Abs(filepath.Join(corpus, name)))(t)
	tmp := t.TempDir()
	work := filepath.Join(tmp, "case")
	env := makeCase(t, dir, tmp)
	before := tree(t, work)
	cmd := buildCommand(t, dir, tmp, flags)
	cmd.Env = append(os.Environ(), env...)
	code, stdout, stderr := runCommand(t, cmd)
	t.Log(stderr)
	want := strings.TrimSpace(e2e.ReadFile(t, filepath.Join(dir, "exit")))
	var diff string
	switch {
	case want == "0" && code == 0:
		path, _, _ := strings.Cut(stdout, " sha256:")
		if !filepath.IsAbs(path) {
			path = filepath.Join(cmd.Dir, path)
		}
		diff = compareImage(t, dir, path)
	case want == "0" || code == 0:
		diff = fmt.Sprintf("exit code %d, the crossplane CLI's is %s: %s", code, want, e2e.ReadFile(t, filepath.Join(dir, "stderr")))
	}
	if code != 0 {
		e2e.Equal(t, "a failed build leaves no traces", before, tree(t, work))
	}
	switch {
	case listed && diff == "":
		t.Error("differences.yaml names this case, but its output is equal")
	case !listed && diff != "":
		t.Errorf("%s%s", e2e.ReadFile(t, filepath.Join(dir, "about.txt")), diff)
	}
}

// caseLinks are the symbolic links of the cases. The repository has a file with the
// target in place of each, because git on some systems cannot check out links.
var caseLinks = map[string]string{
	"fs-symlink-dangling":      "package/crd.yaml",
	"fs-symlink-dir":           "package/crds",
	"fs-symlink-dir-yaml-name": "package/d.yaml",
	"fs-symlink-escape":        "package/crd.yaml",
	"fs-symlink-examples-root": "exlink",
	"fs-symlink-inside":        "package/crd.yaml",
	"fs-symlink-loop":          "package/l.yaml",
	"fs-symlink-root":          "link",
}

// makeCase creates the directory of a case, and returns its environment variables.
func makeCase(t *testing.T, dir, tmp string) []string {
	t.Helper()
	work := filepath.Join(tmp, "case")
	e2e.NoError(t, os.CopyFS(work, os.DirFS(filepath.Join(dir, "in"))))
	for d := range strings.FieldsSeq(optional(t, filepath.Join(dir, "emptydirs"))) {
		e2e.NoError(t, os.MkdirAll(filepath.Join(work, d), 0o755))
	}
	if link, ok := caseLinks[filepath.Base(dir)]; ok {
		path := filepath.Join(work, link)
		target := e2e.ReadFile(t, path)
		e2e.NoError(t, os.Remove(path))
		e2e.NoError(t, os.Symlink(target, path))
	}
	home := filepath.Join(tmp, "home")
	env := []string{"HOME=" + home, "DOCKER_CONFIG=" + home}
	special := optional(t, filepath.Join(dir, "env"))
	for line := range strings.Lines(special) {
		env = append(env, strings.TrimSpace(strings.ReplaceAll(line, "{tmp}", tmp)))
	}
	if strings.HasPrefix(filepath.Base(dir), "runtime-daemon-") && special == "" {
		env = append(env, "DOCKER_HOST="+dockerenginetest.Open(t).Endpoint().Host)
	}
	if script := optional(t, filepath.Join(dir, "setup.sh")); script != "" {
		setUpCase(t, script, work, env)
	}
	return env
}

// setUpCase runs the script of a case. Images that it loads are removed when the test ends.
func setUpCase(t *testing.T, script, work string, env []string) {
	t.Helper()
	// The output of docker load names the images, but the script redirects it to /dev/null.
	cmd := exec.CommandContext(e2e.Context(t), "sh", "-e")
	cmd.Dir, cmd.Env = work, append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(script, ">/dev/null", ""))
	out := e2e.Output(t, cmd)
	loaded := regexp.MustCompile(`(?m)^Loaded image(?: ID)?: (.*)$`).FindAllStringSubmatch(out, -1)
	if len(loaded) == 0 {
		return
	}
	engine := dockerenginetest.Connect(t, dockerenginetest.Environment(t))
	t.Cleanup(func() {
		for _, image := range loaded {
			e2e.NoError(t, e2e.Err(engine.ImageRemove(context.WithoutCancel(t.Context()), image[1], client.ImageRemoveOptions{Force: true})))
		}
	})
}

// buildCommand returns a case's command line in the case's working directory.
func buildCommand(t *testing.T, dir, tmp string, flags []string) *exec.Cmd {
	t.Helper()
	text := strings.TrimSuffix(e2e.ReadFile(t, filepath.Join(dir, "args")), "\n")
	args := slices.Concat([]string{"xpkg", "build"}, strings.Split(strings.ReplaceAll(text, "{tmp}", tmp), "\n"), flags)
	cmd := e2e.Command(t, args...)
	cmd.Dir = filepath.Join(tmp, "case")
	if cwd := strings.TrimSpace(strings.ReplaceAll(optional(t, filepath.Join(dir, "cwd")), "{tmp}", tmp)); filepath.IsAbs(cwd) {
		cmd.Dir = cwd
	} else {
		cmd.Dir = filepath.Join(cmd.Dir, cwd)
	}
	return cmd
}

// runCommand runs a command to its end. It may fail.
func runCommand(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// tree describes all files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all[path] = d.Type().String()
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			all[path] += string(data[:min(len(data), 100)]) + fmt.Sprint(len(data))
			return err
		}
		return nil
	})
	e2e.NoError(t, err)
	return all
}

// optional returns the text of a file, or "".
func optional(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return e2e.ReadFile(t, path)
}

// TestBuildBoundsProblems: xfn xpkg build prints at most 50 problems, and the number
// of all.
func TestBuildBoundsProblems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: acme}\n"
	fields, objects := "", ""
	for i := range 60 {
		fields += fmt.Sprintf("field%d: x\n", i)
		objects += "---\nkind: X\n"
	}
	for name, text := range map[string]string{"lost/crossplane.yaml": meta + fields, "bad/crossplane.yaml": meta + objects} {
		name = filepath.Join(dir, name)
		e2e.NoError(t, os.Mkdir(filepath.Dir(name), 0o700))
		e2e.WriteFile(t, name, text)
	}
	cases := map[string]struct {
		reason, root string
		code         int
		label, last  string
	}{
		"Errors":   {"errors end with their number", "bad", failed, "error: ", "xfn: error: package root \"bad\" has 60 problems; the first 50 are above"},
		"Warnings": {"warnings end with their number", "lost", done, "warning: ", "warning: and 10 more"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := e2e.Command(t, "xpkg", "build", "-f", tc.root, "--lint=warn", "-o", "x.xpkg")
			cmd.Dir = dir
			code, _, stderr := runCommand(t, cmd)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			n := strings.Count("\n"+stderr, "\n"+tc.label+tc.root)
			if code != tc.code || n != 50 || strings.Count(stderr, "hint: ") != 1 || lines[len(lines)-1] != tc.last {
				t.Errorf("%s: got %d and %d problems:\n%s", tc.reason, code, n, stderr)
			}
		})
	}
}
