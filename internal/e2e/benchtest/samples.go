package benchtest

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// samplePrefix marks the lines of Measure in the output of go test.
const samplePrefix = "sample "

func sampleLine(row, program string, c Cost) string {
	line := fmt.Sprintf("Benchmark%s/program=%s 1 %d ns/op", row, program, c.Took.Nanoseconds())
	if c.Peak > 0 {
		line += fmt.Sprintf(" %d peak-bytes", c.Peak)
	}
	return line
}

var (
	sampleFormat = regexp.MustCompile(`^Benchmark(\w+)/program=(\w+) 1 (\d+) ns/op(?: (\d+) peak-bytes)?$`)
	notRun       = regexp.MustCompile(`^ *--- (SKIP|FAIL): Benchmark(\S+?)(-\d+)?$`)
	position     = regexp.MustCompile(`^ *\w+\.go:\d+: `)
)

// Samples are the costs that benchmarks reported.
type Samples struct {
	// Costs are by row and program.
	Costs map[string]map[string][]Cost
	// Missing are benchmarks that were skipped or failed, by their names without "Benchmark".
	// The name of a sub-benchmark is the last part of its name.
	Missing map[string]Missing
}

// Missing is why a benchmark has no samples.
type Missing struct {
	Reason string
	Failed bool
}

// Read reads the output of go test -v. It writes the samples to w as a file that benchstat
// can read.
func Read(r io.Reader, w io.Writer) (Samples, error) {
	s := Samples{Costs: map[string]map[string][]Cost{}, Missing: map[string]Missing{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var reason string // what the current benchmark has logged last
	for lines.Scan() {
		line := lines.Text()
		if found := notRun.FindStringSubmatch(line); found != nil {
			s.Missing[path.Base(found[2])] = Missing{Reason: reason, Failed: found[1] == "FAIL"}
		}
		if strings.HasPrefix(line, "Benchmark") {
			reason = ""
		}
		if at := position.FindString(line); at != "" {
			reason = line[len(at):]
		}
		sample, ok := strings.CutPrefix(line, samplePrefix)
		if !ok {
			continue
		}
		found := sampleFormat.FindStringSubmatch(sample)
		if found == nil {
			return s, fmt.Errorf("reading samples: unexpected line %q", line)
		}
		var c Cost
		if _, err := fmt.Sscan(found[3]+" "+cmp.Or(found[4], "0"), &c.Took, &c.Peak); err != nil {
			return s, fmt.Errorf("reading samples: %w", err)
		}
		if _, err := fmt.Fprintln(w, sample); err != nil {
			return s, fmt.Errorf("writing samples: %w", err)
		}
		if s.Costs[found[1]] == nil {
			s.Costs[found[1]] = map[string][]Cost{}
		}
		s.Costs[found[1]][found[2]] = append(s.Costs[found[1]][found[2]], c)
	}
	return s, lines.Err()
}

// A Figure is a statistic of samples, in seconds or bytes.
type Figure struct {
	Median float64 `json:"median"`
	// Low and High are the first and the third quartile.
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Samples int     `json:"samples"`
}

// figure returns the statistic of costs: of their duration, or of their peak memory.
func figure(costs []Cost, peak bool) *Figure {
	var values []float64
	for _, c := range costs {
		switch {
		case !peak:
			values = append(values, c.Took.Seconds())
		case c.Peak > 0:
			values = append(values, float64(c.Peak))
		}
	}
	if len(values) == 0 {
		return nil
	}
	return &Figure{quartile(values, 2), quartile(values, 1), quartile(values, 3), len(values)}
}

// quartile returns the quartile n of values, which it sorts. Quartile 2 is the median.
func quartile(values []float64, n int) float64 {
	slices.Sort(values)
	at := float64(len(values)-1) * float64(n) / 4
	low, high := int(math.Floor(at)), int(math.Ceil(at))
	return values[low] + (values[high]-values[low])*(at-float64(low))
}

// seconds returns a duration as text with three digits.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	for unit := time.Duration(1); unit <= time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(10 * time.Millisecond).String()
}
