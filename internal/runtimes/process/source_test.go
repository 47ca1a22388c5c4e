package process_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/process"
)

func TestSourceFolder(t *testing.T) {
	var steps []string
	p := process.Process{
		Env:   process.Environment(os.Environ()),
		GoEnv: os.Environ(),
		LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t), Progress: func(e progress.Event) {
			if e.Kind == progress.Step {
				steps = append(steps, e.Text)
			}
		}},
	}
	source := "./testdata/literal"
	fn := e2e.Must(p.Start(t.Context(), runtimes.Function{Name: "f", Package: source}))(t)
	assertAnswers(t, fn)
	e2e.Equal(t, "the detail is the folder of the source", "built from "+source, fn.Detail)
	e2e.Equal(t, "the source is compiled once", []string{"compiling " + source}, steps)
	stop(t, fn)
}

func writeModule(t *testing.T, main string) string {
	t.Helper()
	return e2e.Dir(t, map[string]string{"go.mod": "module example.org/f\n\ngo 1.24\n", "main.go": main})
}

func TestSourceThatDoesNotServe(t *testing.T) {
	broken := writeModule(t, "package main\n\nfunc main() { no }\n")
	quitter := writeModule(t, "package main\n\nfunc main() { println(\"enough\") }\n")
	cases := map[string]struct{ reason, pkg, want, hint string }{
		"DoesNotCompile": {reason: "the error quotes the compiler", pkg: broken, want: "undefined: no"},
		"Quits":          {reason: "a program that ends immediately is not a function", pkg: quitter, want: `starting function "f": the function ended unexpectedly (exit status 0); its last output:` + "\n  enough"},
		"Missing":        {reason: "a path that does not exist is an error if no other runtime is set", pkg: "no/such", want: `starting function "f": finding package "no/such": `, hint: "{package} NAME=PATH"},
		"Package":        {reason: "without a runtime for packages the error names the system", pkg: "source_test.go", want: `package "source_test.go" contains a program for Linux, but this system is `, hint: "Go source"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := process.Process{GoEnv: os.Environ(), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t)}}
			_, err := p.Start(t.Context(), runtimes.Function{Name: "f", Package: tc.pkg})
			e2e.ErrorHas(t, tc.reason, err, tc.want)
			e2e.Has(t, tc.reason, string(hint.Of(err)), tc.hint)
		})
	}
}

func TestCancelledWhileCompiling(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := process.Process{GoEnv: os.Environ(), LocalOptions: runtimes.LocalOptions{TempDir: shortDir(t), Progress: func(progress.Event) { cancel() }}}
	e2e.ErrorIs(t, "canceling ends the compilation", e2e.Err(p.Start(ctx, runtimes.Function{Name: "f", Package: "./testdata/literal"})), context.Canceled)
}

func TestTempDirThatIsNotThere(t *testing.T) {
	p := process.Process{LocalOptions: runtimes.LocalOptions{TempDir: filepath.Join(t.TempDir(), "none")}}
	e2e.ErrorIs(t, "a missing directory is the cause of the error", e2e.Err(p.Start(t.Context(), runtimes.Function{Name: "f", Package: t.TempDir()})), os.ErrNotExist)
}

func TestEnvironment(t *testing.T) {
	user := []string{"PATH=/bin", "path=/other", "AWS_SECRET_ACCESS_KEY=s", "HOME=/home/me", "LANG=C", "HTTPS_PROXY=http://me:pw@proxy", "=C:=C:\\", "SYSTEMROOT=C:\\Windows", "bare"}
	before := slices.Clone(user)
	got := process.Environment(user)
	e2e.Equal(t, "only variables that a function may see are passed on", []string{"PATH=/bin", "LANG=C", "SYSTEMROOT=C:\\Windows"}, got)
	e2e.Equal(t, "Environment does not change its argument", before, user)
}
