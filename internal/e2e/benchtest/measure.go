package benchtest

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// Environment variables of the benchmarks.
const (
	// RowsVar is a regular expression. Measure skips rows whose name does not match.
	RowsVar = "XFN_BENCH_ROWS"
	// TimeVar is the time in which Measure starts new rounds of a row. 0s means one round.
	TimeVar = "XFN_BENCH_TIME"
	// BaseVar is the path of another xfn. Measure compares xfn with it, and with nothing else.
	BaseVar = "XFN_BENCH_BASE"
	// LayersVar is the number of layers of 256 MiB in the large image.
	LayersVar = "XFN_BENCH_LAYERS"
)

// DefaultLayers is the number of layers for which the table names the size of the large image.
const DefaultLayers = 4

// Programs that samples name.
const (
	XFN   = "xfn"
	Base  = "base"
	Limit = "limit"
	Floor = "floor"
	// CLI is the crossplane CLI on PATH.
	CLI = "crossplane"
)

// Numbers of rounds. From six samples on, benchstat can state a confidence of 95 %.
const (
	leastRounds     = 3
	leastBaseRounds = 6
	mostRounds      = 25
)

// A Cost is what one run of a job needed.
type Cost struct {
	Took time.Duration
	// Peak is the peak memory in bytes, or 0 if it was not measured.
	Peak int64
}

// Jobs are the jobs of a row. All but XFN may be nil.
type Jobs struct {
	// XFN runs the job with an xfn program, or in this process if the row says so.
	XFN func(program string) Cost
	// Limit runs the job with which the aim of the row compares XFN.
	Limit func() Cost
	// Floor does the parts of the job that no program can leave out, and nothing else.
	Floor func() Cost
	// CLI runs the job with the crossplane CLI.
	CLI func(program string) Cost
}

// Measure runs the jobs of a row in turns, each round with another one first, and prints a
// line for each run: "sample" and a line of Go's benchmark format.
func Measure(b *testing.B, name string, jobs Jobs) {
	b.Helper()
	row, ok := find(name)
	if !ok {
		b.Fatalf("Rows has no row %q", name)
	}
	if !matches(b, name) {
		return
	}
	turns := turnsOf(b, row, jobs)
	least, limit := leastRounds, 5*time.Second
	if os.Getenv(BaseVar) != "" {
		least = leastBaseRounds
	}
	if text := os.Getenv(TimeVar); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			b.Fatalf("reading %s: %v", TimeVar, err)
		}
	}
	if limit == 0 {
		least = 1
	}
	costs := map[string][]float64{}
	for began, round := time.Now(), 0; round < least || round < mostRounds && time.Since(began) < limit; round++ {
		for i := range turns {
			t := turns[(round+i)%len(turns)]
			cost := t.run()
			if cost == (Cost{}) {
				continue // the CLI failed
			}
			fmt.Printf("\n%s%s\n", samplePrefix, sampleLine(name, t.program, cost))
			costs[t.program] = append(costs[t.program], cost.Took.Seconds())
		}
	}
	b.ReportMetric(0, "ns/op")
	for program, seconds := range costs {
		b.ReportMetric(quartile(seconds, 2)*1000, "ms-"+program)
	}
}

// Wants reports whether the benchmarks of one of these rows are to run. A benchmark whose
// preparation is expensive calls it first.
func Wants(b *testing.B, names ...string) bool {
	b.Helper()
	return slices.ContainsFunc(names, func(name string) bool { return matches(b, name) })
}

func matches(b *testing.B, name string) bool {
	b.Helper()
	wanted, err := regexp.Compile(os.Getenv(RowsVar))
	if err != nil {
		b.Fatalf("reading %s: %v", RowsVar, err)
	}
	return wanted.MatchString(name)
}

type turn struct {
	program string
	run     func() Cost
}

func turnsOf(b *testing.B, row Row, jobs Jobs) []turn {
	b.Helper()
	program := ""
	if !row.InProcess {
		program = e2e.Binary(b)
	}
	turns := []turn{{XFN, func() Cost { return jobs.XFN(program) }}}
	if base := os.Getenv(BaseVar); base != "" {
		return append(turns, turn{Base, func() Cost { return jobs.XFN(base) }})
	}
	if jobs.Limit != nil {
		turns = append(turns, turn{Limit, jobs.Limit})
	}
	if jobs.Floor != nil {
		turns = append(turns, turn{Floor, jobs.Floor})
	}
	if cli, err := exec.LookPath(CLI); err == nil && jobs.CLI != nil {
		turns = append(turns, turn{CLI, func() Cost { return jobs.CLI(cli) }})
	}
	return turns
}

// Timed returns the cost of f without its peak memory.
func Timed(f func()) Cost {
	began := time.Now()
	f()
	return Cost{Took: time.Since(began)}
}

// Run runs a command, which must succeed, and returns its cost. Its output is discarded.
func Run(b *testing.B, dir, program string, args ...string) Cost {
	b.Helper()
	return RunWith(b, nil, dir, program, args...)
}

// RunWith is Run with additional environment variables, NAME=VALUE. It reads the peak
// memory while the process runs, because the system's figure for a child process includes
// the memory of this process before the child starts its program.
func RunWith(b *testing.B, env []string, dir, program string, args ...string) Cost {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	began := time.Now()
	e2e.NoError(b, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ask := time.NewTicker(5 * time.Millisecond)
	defer ask.Stop()
	for peak := int64(0); ; {
		select {
		case <-ask.C:
			peak = max(peak, highWater(cmd.Process.Pid))
		case err := <-ended:
			took := time.Since(began)
			if err != nil {
				b.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, &stderr)
			}
			return Cost{Took: took, Peak: peak}
		}
	}
}

// highWater returns the peak memory of a process in bytes (VmHWM, proc(5)), or 0 if it
// cannot be read.
func highWater(pid int) (bytes int64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(rest, &bytes)
	return bytes * 1024
}

// Try is Run for the crossplane CLI: if the command fails, it logs why and returns the zero
// Cost, so that the row has no figure of the CLI.
func Try(b *testing.B, dir, program string, args ...string) Cost {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program, args...)
	cmd.Dir = dir
	var out strings.Builder
	cmd.Stderr = &out
	began := time.Now()
	if err := cmd.Run(); err != nil {
		b.Logf("%s %s: %v\n%s", program, strings.Join(args, " "), err, &out)
		return Cost{}
	}
	return Cost{Took: time.Since(began)}
}
