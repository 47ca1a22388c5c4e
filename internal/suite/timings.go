package suite

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
	"unicode"

	"github.com/xfn-dev/xfn/internal/hint"
)

// Limits of recorded durations. Each case counts as at least minCaseTime, because cases that a
// report rounds to zero still need to be parsed and reported.
const (
	minCaseTime = 100 * time.Microsecond
	maxCaseTime = 365 * 24 * time.Hour
)

// Timings are the durations of cases in earlier runs.
type Timings struct {
	// cases has the sum and the number of durations, by Item.Name.
	cases map[string]timing
	// median is the duration of cases that were not recorded.
	median time.Duration
}

type timing struct {
	sum   time.Duration
	count int64
}

func (t timing) mean() time.Duration { return t.sum / time.Duration(t.count) }

// ReadTimings reads reports of xfn test, in JSON or as JUnit. Several reports in one format may
// follow each other, such as the reports of all shards. A case that ran more than once has the
// mean of its durations.
func ReadTimings(r io.Reader) (*Timings, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	t := &Timings{cases: map[string]timing{}}
	first, err := firstRune(in)
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("expected reports of xfn test in JSON or as JUnit, got an empty file")
	case err != nil:
		return nil, err
	case first == '{':
		err = t.readJSON(json.NewDecoder(in))
	case first == '<':
		err = t.readJUnit(xml.NewDecoder(in))
	default:
		err = fmt.Errorf("expected reports of xfn test in JSON or as JUnit, got a file that begins with %q", first)
	}
	if err != nil {
		return nil, err
	}
	if len(t.cases) == 0 {
		return nil, errors.New("the reports have no cases")
	}
	all := make([]time.Duration, 0, len(t.cases))
	for _, c := range t.cases {
		all = append(all, c.mean())
	}
	slices.Sort(all)
	t.median = all[len(all)/2]
	return t, nil
}

// firstRune returns the first character after white space, and does not consume it.
func firstRune(in *bufio.Reader) (rune, error) {
	for {
		c, _, err := in.ReadRune()
		if err != nil {
			return 0, err
		}
		if !unicode.IsSpace(c) {
			return c, in.UnreadRune()
		}
	}
}

func (t *Timings) add(suiteName, caseName string, seconds float64) error {
	name := Outcome{Suite: suiteName, Case: caseName}.Name()
	if name == "" {
		return errors.New("a case has no name")
	}
	if !(seconds >= 0 && seconds <= maxCaseTime.Seconds()) { // NaN is not in the range.
		return fmt.Errorf("case %q: expected between 0 and %.0f seconds, got %v", name, maxCaseTime.Seconds(), seconds)
	}
	c := t.cases[name]
	c.sum, c.count = c.sum+max(minCaseTime, time.Duration(seconds*float64(time.Second))), c.count+1
	t.cases[name] = c
	return nil
}

// readJSON reads documents of the form that package format writes. It keeps one case in memory
// at a time.
func (t *Timings) readJSON(dec *json.Decoder) error {
	for n := 1; ; n++ {
		err := t.readDocument(dec)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading report %d, near byte %d: %w", n, dec.InputOffset(), err)
		}
	}
}

// readDocument returns io.EOF if there is no other document.
func (t *Timings) readDocument(dec *json.Decoder) error {
	if start, err := dec.Token(); err != nil {
		return err
	} else if start != json.Delim('{') {
		return fmt.Errorf("expected an object, got %v", start)
	}
	found := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return unexpectedEnd(err)
		}
		if key == "cases" {
			found, err = true, t.readCases(dec)
		} else {
			var other json.RawMessage
			err = dec.Decode(&other)
		}
		if err != nil {
			return unexpectedEnd(err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return unexpectedEnd(err)
	}
	if !found {
		return errors.New(`there is no list "cases"`)
	}
	return nil
}

// unexpectedEnd replaces io.EOF, which readDocument returns between documents only.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (t *Timings) readCases(dec *json.Decoder) error {
	if start, err := dec.Token(); err != nil {
		return err
	} else if start != json.Delim('[') {
		return fmt.Errorf("cases: expected a list, got %v", start)
	}
	for dec.More() {
		var c struct {
			Suite, Case string
			Seconds     *float64
		}
		if err := dec.Decode(&c); err != nil {
			return hint.JSONError(err)
		}
		if c.Seconds == nil {
			return fmt.Errorf("case %q has no seconds", Outcome{Suite: c.Suite, Case: c.Case}.Name())
		}
		if err := t.add(c.Suite, c.Case, *c.Seconds); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// readJUnit reads documents of the form that report.WriteJUnit writes.
func (t *Timings) readJUnit(dec *xml.Decoder) error {
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "testcase" {
			continue
		}
		attrs := map[string]string{}
		for _, a := range start.Attr {
			attrs[a.Name.Local] = a.Value
		}
		line, _ := dec.InputPos()
		seconds, err := strconv.ParseFloat(attrs["time"], 64)
		if err != nil {
			return fmt.Errorf("line %d: case %q: expected a number of seconds in the attribute time, got %q", line, attrs["name"], attrs["time"])
		}
		if err := t.add(attrs["classname"], attrs["name"], seconds); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// A Split is a division of items into shards of similar durations.
type Split struct {
	// Unknown counts the items that have no recorded duration.
	Unknown int
	// Loads are the expected durations of the shards.
	Loads []time.Duration
	// Longest is the item with the longest duration. It is the zero Item if there are no items.
	Longest Item
	// LongestTime is the expected duration of Longest.
	LongestTime time.Duration

	items  []Item
	shards []int // by index of items
}

// Split divides items into count shards. It gives the items, the longest first, to the shard that
// has the smallest load so far. No shard exceeds the mean by more than one item's duration. An
// item that was not recorded counts as the median of all recorded durations. The result depends
// only on the arguments, so that machines with the same files agree.
func (t *Timings) Split(items []Item, count int) Split {
	s := Split{Loads: make([]time.Duration, count), items: items, shards: make([]int, len(items))}
	times, order := make([]time.Duration, len(items)), make([]int, len(items))
	for i, item := range items {
		order[i], times[i] = i, t.median
		if known, ok := t.cases[item.Name()]; ok {
			times[i] = known.mean()
		} else {
			s.Unknown++
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[b], times[a]) })
	if len(order) > 0 {
		s.Longest, s.LongestTime = items[order[0]], times[order[0]]
	}
	for _, i := range order {
		shard := slices.Index(s.Loads, slices.Min(s.Loads))
		s.shards[i] = shard
		s.Loads[shard] += times[i]
	}
	return s
}

// Items returns the items of a shard, in their original order.
func (s Split) Items(shard Shard) (all []Item) {
	for i, item := range s.items {
		if s.shards[i] == shard.Index-1 {
			all = append(all, item)
		}
	}
	return all
}

// Mean returns the mean of Loads.
func (s Split) Mean() (mean time.Duration) {
	for _, l := range s.Loads {
		mean += l
	}
	return mean / time.Duration(len(s.Loads))
}

// Slowest returns the largest of Loads.
func (s Split) Slowest() time.Duration { return slices.Max(s.Loads) }

// Digest returns eight characters that are equal on machines that divide the same cases equally.
func (s Split) Digest() string {
	sum := sha256.New()
	for i, item := range s.items {
		_, _ = sum.Write(append(binary.AppendUvarint(nil, uint64(s.shards[i])), item.Name()+"\x00"...))
	}
	return hex.EncodeToString(sum.Sum(nil)[:4])
}
