package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
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
	"time"

	"github.com/xfn-dev/xfn/internal/e2e/benchtest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

const (
	samplesFile = "bench.txt"
	reportFile  = "bench.json"
)

type options struct {
	xfn, base, page string
	rows            *regexp.Regexp
	time            time.Duration
	layers          int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	var err error
	flag.StringVar(&o.xfn, "xfn", "bin/xfn", "path of the xfn to measure")
	flag.StringVar(&o.base, "base", "", "commit to compare with")
	flag.StringVar(&o.page, "page", "", "measure nothing, and write the table of "+reportFile+" into this page")
	rows := flag.String("rows", ".", "regular expression of the names of rows")
	flag.DurationVar(&o.time, "time", 5*time.Second, "time for each row; 0s means one round")
	flag.IntVar(&o.layers, "layers", benchtest.DefaultLayers, "size of the large image, in layers of 256 MiB")
	flag.Parse()
	o.rows, err = regexp.Compile(*rows)
	if err == nil && flag.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if err == nil {
		err = o.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	if o.page != "" {
		return writePage(o.page)
	}
	var err error
	if o.xfn, err = filepath.Abs(o.xfn); err != nil {
		return err
	}
	base := ""
	if o.base != "" {
		dir, err := os.MkdirTemp("", "xfn-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		base = filepath.Join(dir, "xfn")
		if err := build(ctx, o.base, filepath.Join(dir, "source"), base); err != nil {
			return err
		}
	}
	samples, failed := o.measure(ctx, base)
	if failed != nil && len(samples.Costs) == 0 {
		return failed
	}
	if base != "" {
		return errors.Join(failed, command(ctx, "go", "tool", "-modfile=tools/go.mod", "benchstat", "-col", "/program@(base xfn)", samplesFile).Run())
	}
	m, err := o.machine(ctx)
	if err != nil {
		return err
	}
	report := benchtest.NewReport(m, samples, o.rows)
	fmt.Printf("\n%s", report.Markdown())
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(failed, os.WriteFile(reportFile, append(text, '\n'), 0o644))
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

// command returns a command whose output goes to the terminal. An interrupt ends it, too.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// measure runs the benchmarks of the rows, a package at a time.
func (o options) measure(ctx context.Context, base string) (benchtest.Samples, error) {
	var packages []string
	functions := map[string][]string{}
	for _, row := range benchtest.Rows() {
		switch {
		case !o.rows.MatchString(row.Name), slices.Contains(functions[row.Package], row.Benchmark):
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
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "XFN_TEST_BIN="+o.xfn,
			benchtest.RowsVar+"="+o.rows.String(), benchtest.TimeVar+"="+o.time.String(),
			benchtest.BaseVar+"="+base, fmt.Sprintf("%s=%d", benchtest.LayersVar, o.layers))
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
func (o options) machine(ctx context.Context) (benchtest.Machine, error) {
	version, err := exec.CommandContext(ctx, o.xfn, "version", "--format", "json").Output()
	var xfn struct{ Version string }
	err = errors.Join(err, json.Unmarshal(version, &xfn))
	m := benchtest.Machine{
		CPU: runtime.GOARCH, Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Date: time.Now().UTC().Format(time.DateOnly), Version: xfn.Version, Layers: o.layers, Registry: "`xfn registry serve`",
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

func writePage(path string) error {
	text, err := os.ReadFile(reportFile)
	if err != nil {
		return fmt.Errorf("reading the report: %w", err)
	}
	var report benchtest.Report
	if err := json.Unmarshal(text, &report); err != nil {
		return fmt.Errorf("reading %q: %w", reportFile, err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := report.Insert(string(page))
	if err != nil {
		return fmt.Errorf("changing %q: %w", path, err)
	}
	return os.WriteFile(path, []byte(changed), 0o644)
}
