package benchtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

const (
	samplesFile = root + "/bench.txt"
	reportFile  = root + "/bench.json"
	// refVar is the commit to compare xfn with.
	refVar = "XFN_BENCH_REF"
)

// BenchmarkTable runs the benchmarks of the table, and prints the table. It writes bench.txt,
// which benchstat can read, and bench.json. If refVar names a commit, BenchmarkTable compares
// xfn with the xfn of this commit instead.
func BenchmarkTable(b *testing.B) {
	ctx, stop := signal.NotifyContext(b.Context(), os.Interrupt)
	defer stop()
	rows, err := regexp.Compile(os.Getenv(benchtest.RowsVar))
	if err != nil {
		b.Fatalf("reading %s: %v", benchtest.RowsVar, err)
	}
	xfn, base := e2e.Binary(b), ""
	if ref := os.Getenv(refVar); ref != "" {
		dir := b.TempDir()
		base = filepath.Join(dir, "xfn")
		e2e.NoError(b, build(ctx, ref, filepath.Join(dir, "source"), base))
	}
	samples := e2e.Must(measure(ctx, rows, xfn, base))(b)
	if base != "" {
		e2e.NoError(b, command(ctx, "go", "tool", "-modfile=tools/go.mod", "benchstat", "-col", "/program@(base xfn)", filepath.Base(samplesFile)).Run())
		return
	}
	m := e2e.Must(machine(ctx, xfn))(b)
	report := benchtest.NewReport(m, samples, rows)
	fmt.Printf("\n%s", report.Markdown())
	text := e2e.Must(json.MarshalIndent(report, "", "  "))(b)
	e2e.NoError(b, os.WriteFile(reportFile, append(text, '\n'), 0o644))
}

// build compiles the xfn of a commit as `make build` does. dir is a new folder, which it
// removes.
func build(ctx context.Context, ref, dir, program string) (err error) {
	if err := command(ctx, "git", "worktree", "add", "--quiet", "--detach", dir, ref).Run(); err != nil {
		return fmt.Errorf("checking out %q: %w", ref, err)
	}
	defer func() {
		remove := command(context.WithoutCancel(ctx), "git", "worktree", "remove", "--force", dir)
		err = errors.Join(err, remove.Run())
	}()
	make := command(ctx, "make", "--no-print-directory", "-C", dir, "build", "BIN="+program)
	if err := make.Run(); err != nil {
		return fmt.Errorf("building %q: %w", ref, err)
	}
	return nil
}

// command returns a command that runs in the root of the repository, and whose output goes
// to the terminal. An interrupt ends it, too.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
	return cmd
}

// measure runs the benchmarks of the rows, a package at a time.
func measure(ctx context.Context, rows *regexp.Regexp, xfn, base string) (benchtest.Samples, error) {
	var packages []string
	functions := map[string][]string{}
	for _, row := range benchtest.Rows() {
		switch {
		case !rows.MatchString(row.Name), slices.Contains(functions[row.Package], row.Benchmark):
			continue
		case base != "" && row.InProcess:
			fmt.Printf("not compared, because it needs the packages of the commit: %s\n", row.Name)
			continue
		case functions[row.Package] == nil:
			packages = append(packages, row.Package)
		}
		functions[row.Package] = append(functions[row.Package], row.Benchmark)
	}
	var output bytes.Buffer
	var failed error
	for _, dir := range packages {
		cmd := command(ctx, "go", "test", "-trimpath", "-vet=off", "-timeout", "2h", "-run", "^$",
			"-bench", "^("+strings.Join(functions[dir], "|")+")$", "-benchtime", "1x", "-v", "./"+dir)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "XFN_TEST_BIN="+xfn, benchtest.BaseVar+"="+base)
		cmd.Stdout = io.MultiWriter(os.Stdout, &output)
		if err := cmd.Run(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("running the benchmarks of %s: %w", dir, err))
		}
	}
	file, err := os.Create(samplesFile)
	if err != nil {
		return benchtest.Samples{}, errors.Join(failed, err)
	}
	samples, err := benchtest.Read(&output, file)
	return samples, errors.Join(failed, err, file.Close())
}

// machine describes this machine. It knows the processor and the memory of Linux only.
func machine(ctx context.Context, program string) (benchtest.Machine, error) {
	version, err := exec.CommandContext(ctx, program, "version", "--format", "json").Output()
	var xfn struct{ Version string }
	err = errors.Join(err, json.Unmarshal(version, &xfn))
	m := benchtest.Machine{
		CPU: runtime.GOARCH, Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Date: time.Now().UTC().Format(time.DateOnly), Version: xfn.Version, Layers: benchtest.DefaultLayers, Registry: "`xfn registry serve`",
	}
	if text := os.Getenv(benchtest.LayersVar); text != "" {
		_, layersErr := fmt.Sscan(text, &m.Layers)
		err = errors.Join(err, layersErr)
	}
	if remotetest.HasRegistry() {
		m.Registry = "Debian's docker-registry"
	}
	cpus, _ := os.ReadFile("/proc/cpuinfo")
	if found := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(cpus); found != nil {
		m.CPU = string(found[1])
	}
	memory, _ := os.ReadFile("/proc/meminfo")
	_, _ = fmt.Sscanf(string(memory), "MemTotal: %d", &m.Memory)
	m.Memory *= 1024
	return m, err
}
