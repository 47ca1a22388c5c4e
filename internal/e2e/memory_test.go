package e2e_test

import (
	"cmp"
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
		fmt.Fprintf(&properties, "              p%d: {type: object, properties: {a: {type: string}}}\n", i)
	}
	list := strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&list, "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: cm-%d, namespace: default}\n  data:\n    key: value-%[1]d\n", i)
	}
	return map[string]string{
		"xr.yaml": xr,
		"crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.org}\n" +
			"spec: {group: example.org, scope: Cluster, names: {kind: A, plural: as}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n",
		"list.yaml": "apiVersion: v1\nkind: List\nitems:\n" + list.String(),
		"long.yaml": xr + "spec: {a: [" + strings.Repeat("1, ", 1_000_000) + "1]}\n",
		"bomb.yaml": xr + "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 10_000) + "]\n",
		"functions.yaml": `apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: t}
spec: {package: xpkg.crossplane.io/crossplane-contrib/function-go-templating:v0.12.2}
`,
		"xrd.yaml": `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: piers.harbor.example.org}
spec:
  group: harbor.example.org
  scope: Cluster
  names: {kind: Pier, plural: piers}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: array, items: {type: integer}}}}}}
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
          spec:
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

// withPatches returns a Composition of one step that calls the builtin
// function-patch-and-transform. Patch i has toFieldPath path(i).
func withPatches(patches int, transforms string, path func(i int) string) string {
	var all strings.Builder
	for i := range patches {
		fmt.Fprintf(&all, "        - {fromFieldPath: kind, toFieldPath: '%s', transforms: [%s]}\n", path(i), transforms)
	}
	text := strings.Replace(withTemplate(""), "functionRef: {name: t}", "functionRef: {name: function-patch-and-transform}", 1)
	before, _, _ := strings.Cut(text, "      apiVersion: gotemplating")
	return before + `      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: r
        base: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default}}
        patches:
` + all.String()
}

// TestMemoryOfPatches runs the program with patches that exceed its limits of memory. It
// must end with an error, not with a message of the Go runtime.
func TestMemoryOfPatches(t *testing.T) {
	const (
		args     = "render xr.yaml composition.yaml"
		exceeded = `xfn: error: (running pipeline step "compose", rendering xr.yaml:1|running xfn render): the process needs more than \d+ MiB of memory\nhint: raise the limit with --memory-limit, if the machine has more memory\n`
		long     = "{type: string, string: {type: Format, fmt: '%1000000s'}}"
	)
	field := func(i int) string { return fmt.Sprintf("data.f%d", i) }
	cases := map[string]struct {
		reason, composition, args string
		virtual                   int // the limit of virtual memory in KiB, or 0
		code                      int
		want                      string
	}{
		"Enough": {
			reason:      "patches that extend few lists succeed",
			composition: withPatches(2, "", func(i int) string { return fmt.Sprintf("data.l[%d].a[1000]", i) }),
			args:        args + " --memory-limit=96Mi",
			want:        `warning: resource "r" is a ConfigMap that an API server refuses: data\[l\]: .*\n`,
		},
		"Nulls": {
			reason:      "the nulls with which patches extend lists are limited",
			composition: withPatches(4000, "", func(i int) string { return fmt.Sprintf("data.l[%d][%d].a[1000].b[1000].c[1000]", i/100, i%100) }),
			args:        args + " --memory-limit=1Gi",
			code:        3,
			want:        `xfn: error: .*cannot render composed resource "r" "FromCompositeFieldPath" patch at index \d+: cannot patch to object: the patches extend lists by more than 1048576 nulls \(at composition.yaml:\d+: .*\)\n`,
		},
		"Limit": {
			reason:      "patches that write much text exceed the memory limit",
			composition: withPatches(80, long, field),
			args:        args + " --memory-limit=96Mi",
			code:        1,
			want:        exceeded,
		},
		"Virtual": {
			reason:      "the default memory limit is less than what the limit of virtual memory leaves",
			composition: withPatches(80, long, field),
			args:        args,
			virtual:     1_600_000,
			code:        1,
			want:        exceeded,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(tc.args)
			if tc.virtual > 0 {
				args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -v %d && exec "$0" "$@"`, tc.virtual), e2e.Binary(t)}, args...)
			}
			code, stderr := runLimited(t, tc.composition, args)
			e2e.Equal(t, tc.reason, tc.code, code)
			if !regexp.MustCompile(`^(note: .*\n)*` + tc.want + `$`).MatchString(stderr) {
				t.Errorf("%s: got %.1000q, want %s", tc.reason, stderr, tc.want)
			}
		})
	}
}

// TestMemoryLimit runs the program with input that exceeds its limits of memory
// or time. It must end with an error and a hint, not with a Go panic.
func TestMemoryLimit(t *testing.T) {
	const (
		named    = "apiVersion: example.org/v1\nkind: A\n" + `metadata: {annotations: {gotemplating.fn.crossplane.io/composition-resource-name: a}}` + "\n"
		exceeded = `: the process needs more than \d+ MiB of memory\nhint: raise the limit with --memory-limit, if the machine has more memory\n`
		step     = `xfn: error: running pipeline step "compose", rendering xr.yaml:1` + exceeded
		render   = "render xr.yaml composition.yaml functions.yaml"
	)
	cases := map[string]struct {
		reason, template string
		composition      string // instead of one with template
		args             string
		want             string // stderr without notes
	}{
		"Enough": {reason: "an ordinary render succeeds with a small limit", args: render + " --memory-limit=96Mi"},
		"List": {
			reason: "a List of 1 MB is validated with a small limit, because its items are decoded one after the other",
			args:   "validate crd.yaml list.yaml --skip-success-results --memory-limit=32Mi",
		},
		"Long": {
			reason: "a list of a million numbers, 3 MB, is rendered with 30 times its size",
			args:   "render long.yaml composition.yaml functions.yaml --memory-limit=96Mi",
		},
		"LongPatched": {
			reason:      "patches read only the fields that they name, and validation of the XR needs no other copy of its list",
			composition: withPatches(1, "", func(int) string { return "data.kind" }),
			args:        "render long.yaml composition.yaml --xrd xrd.yaml --memory-limit=52Mi",
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
			code, stderr := runLimited(t, cmp.Or(tc.composition, withTemplate(text)), strings.Fields(tc.args))
			e2e.Equal(t, tc.reason, wantCode, code)
			if !regexp.MustCompile(`^(note: .*\n)*` + tc.want + `$`).MatchString(stderr) {
				t.Errorf("%s: got %.1000q, want %s", tc.reason, stderr, tc.want)
			}
		})
	}
}

// runLimited runs the program in a folder with memoryFiles and a Composition. If args begin
// with sh, it runs that command.
func runLimited(t *testing.T, composition string, args []string) (code int, stderr string) {
	t.Helper()
	dir := t.TempDir()
	files := memoryFiles()
	files["composition.yaml"] = composition
	for path, text := range files {
		path = filepath.Join(dir, path)
		e2e.WriteFile(t, path, text)
	}
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), e2e.Binary(t), args...)
	if args[0] == "sh" {
		cmd = exec.CommandContext(t.Context(), "sh", args[1:]...)
	}
	cmd.Dir, cmd.Stderr = dir, &errs
	cmd.Env = append(os.Environ(), "HOME="+dir, "NO_COLOR=1", "GITHUB_ACTIONS=")
	_ = cmd.Run() // the caller checks the exit code
	return cmd.ProcessState.ExitCode(), errs.String()
}
