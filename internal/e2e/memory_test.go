package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// memoryFiles are a composite resource, function-go-templating, and a large package.
func memoryFiles() map[string]string {
	const xr = "apiVersion: harbor.example.org/v1\nkind: Pier\nmetadata: {name: p}\n"
	properties := strings.Builder{}
	for i := range 12_000 {
		fmt.Fprintf(&properties, "          p%d: {type: object, properties: {a: {type: string}}}\n", i)
	}
	return map[string]string{
		"xr.yaml":   xr,
		"bomb.yaml": xr + "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 10_000) + "]\n",
		"functions.yaml": `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: t}
spec: {package: xpkg.crossplane.io/crossplane-contrib/function-go-templating:v0.12.3}
`,
		"package/crossplane.yaml": "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: large}\n",
		"package/xrd.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: piers.harbor.example.org}
spec:
  group: harbor.example.org
  names: {kind: Pier, plural: piers}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
` + properties.String(),
	}
}

// withTemplate returns a Composition of one step.
func withTemplate(text string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: harbor.example.org/v1, kind: Pier}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: t}
    input:
      apiVersion: gotemplating.fn.crossplane.io/v1beta1
      kind: GoTemplate
      source: Inline
      inline: {template: %q}
`, text)
}

// TestMemoryLimit runs the program with input that exceeds its limits of memory
// or time. It must end with an error and a hint, not with a Go panic.
func TestMemoryLimit(t *testing.T) {
	const (
		named    = `kind: A` + "\n" + `metadata: {annotations: {gotemplating.fn.crossplane.io/composition-resource-name: a}}` + "\n"
		exceeded = `: the process needs more than \d+ MiB of memory\nhint: raise the limit with --memory-limit, if the machine has more memory\n`
		step     = `xfn: error: running pipeline step "compose", rendering xr.yaml:1` + exceeded
		render   = "render xr.yaml composition.yaml functions.yaml"
	)
	cases := map[string]struct {
		reason   string
		template string
		args     string
		want     string // stderr without notes
	}{
		"Enough": {
			reason: "an ordinary render succeeds with a small limit",
			args:   render + " --memory-limit=96Mi",
		},
		"Kept": {
			reason:   "a template that stores its output exceeds the limit",
			template: `{{ $d := dict }}{{ range $i := 1000000000 }}{{ $_ := set $d (toString $i) (repeat 1000000 "x") }}{{ end }}`,
			args:     render + " --memory-limit=128Mi",
			want:     step,
		},
		"Graph": {
			reason:   "formatting a small value as 2^64 characters exceeds the limit",
			template: `{{ $v := list (repeat 10000 "x") }}{{ range until 64 }}{{ $v = list $v $v }}{{ end }}{{ $v }}`,
			args:     render + " --memory-limit=128Mi",
			want:     step,
		},
		"Width": {
			reason:   "a format with large widths exceeds the limit",
			template: `{{ printf (repeat 10000 "%999999[1]d") 1 }}`,
			args:     render + " --memory-limit=128Mi",
			want:     step,
		},
		"Regexp": {
			reason:   "long replacements of many matches exceed the limit",
			template: `{{ $s := repeat 100000 "x" }}{{ regexReplaceAll "x" $s $s }}`,
			args:     render + " --memory-limit=128Mi",
			want:     step,
		},
		"Aliases": {
			reason:   "YAML aliases in the template's output that expand beyond memory are an error",
			template: named + `a: &a "{{ repeat 100000 "x" }}"` + "\nb: [{{ repeat 10000 \"*a,\" }}]\n",
			args:     render + " --memory-limit=128Mi",
			want:     step,
		},
		"Input": {
			reason: "YAML aliases in a file that expand beyond memory are an error",
			args:   "render bomb.yaml composition.yaml functions.yaml --memory-limit=128Mi",
			want:   "xfn: error: loading the composite resource and its Composition" + exceeded,
		},
		"Package": {
			reason: "a package that needs more memory than the limit is an error",
			args:   "xpkg build -f package -o large.xpkg --memory-limit=48Mi",
			want:   "xfn: error: running xfn xpkg build" + exceeded,
		},
		"Time": {
			reason:   "a function call that would run for hours ends at the timeout",
			template: `{{ until 1000000 | uniq }}`,
			args:     render + " --timeout=1s",
			want:     `xfn: error: rendering composite resource "p": running pipeline step "compose": executing the template: timed out after 1s\nhint: raise the limit with --timeout\n`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text, wantCode := tc.template, 1
			if text == "" {
				text = named
			}
			if tc.want == "" {
				wantCode = 0
			}
			code, stderr := runLimited(t, withTemplate(text), strings.Fields(tc.args))
			if code != wantCode {
				t.Errorf("%s: got exit code %d, want %d", tc.reason, code, wantCode)
			}
			if !regexp.MustCompile(`^(note: .*\n)*` + tc.want + `$`).MatchString(stderr) {
				t.Errorf("%s: got %.1000q, want %s", tc.reason, stderr, tc.want)
			}
		})
	}
}

// runLimited runs the program in a folder with memoryFiles and a Composition.
func runLimited(t *testing.T, composition string, args []string) (code int, stderr string) {
	t.Helper()
	dir := t.TempDir()
	files := memoryFiles()
	files["composition.yaml"] = composition
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), e2e.Binary(t))
	cmd.Args = append([]string{"xfn"}, args...)
	cmd.Dir, cmd.Stderr = dir, &errs
	cmd.Env = append(os.Environ(), "HOME="+dir, "NO_COLOR=1", "GITHUB_ACTIONS=")
	_ = cmd.Run() // the caller checks the exit code
	return cmd.ProcessState.ExitCode(), errs.String()
}
