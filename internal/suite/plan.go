package suite

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/suite/spec"
)

// An Item is one thing to run: a case, or a suite that cannot run and says so.
type Item struct {
	Suite *Suite
	// Case is nil for a suite with an Err.
	Case *spec.Case
}

// Name returns "suite/case", or the suite's name.
func (i Item) Name() string {
	if i.Case == nil {
		return i.Suite.Name
	}
	return i.Suite.Name + "/" + i.Case.Name
}

// Line is where the item begins in its file, or 0.
func (i Item) Line() int {
	if i.Case == nil {
		return 0
	}
	return i.Case.Line()
}

// A Shard is a part of all cases: the Index-th of Count, from 1. The zero value is
// all of them.
type Shard struct{ Index, Count int }

// ParseShard reads "I/N", as "2/4".
func ParseShard(text string) (Shard, error) {
	i, n, ok := strings.Cut(text, "/")
	index, err := strconv.Atoi(i)
	count, countErr := strconv.Atoi(n)
	if !ok || err != nil || countErr != nil {
		return Shard{}, fmt.Errorf("%q is no shard: expected the form 2/4", text)
	}
	s := Shard{index, count}
	if s == (Shard{}) { // which is not a part, but all
		return s, s.missing()
	}
	return s, s.Check()
}

// Check returns an error for a shard that cannot be.
func (s Shard) Check() error {
	if s != (Shard{}) && (s.Count < 1 || s.Index < 1 || s.Index > s.Count) {
		return s.missing()
	}
	return nil
}

func (s Shard) missing() error {
	return fmt.Errorf("there is no shard %d of %d", s.Index, s.Count)
}

// has reports whether an item is of the shard. Each is of exactly one, by a hash
// of its file and name: no other item has a say in it.
func (s Shard) has(i Item) bool {
	if s.Count <= 1 {
		return true
	}
	name := filepath.ToSlash(i.Suite.Path) + "\x00"
	if i.Case != nil {
		name += i.Case.Name
	}
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:8])%uint64(s.Count) == uint64(s.Index-1)
}

// A Selection says which items to run, and how often.
type Selection struct {
	// Run selects names, as Item.Name has them. Nil is all.
	Run *regexp.Regexp
	// Shard is the part that runs here.
	Shard Shard
	// Count is how often each runs; 0 is once.
	Count int
}

// MostItems is how many items may run at most where each runs several times.
const MostItems = 1_000_000

// Plan returns what to run, in the order of suites and cases, all once and then
// all again. A suite with an Err is selected by its name or by that of any case
// that it could have.
func Plan(suites []*Suite, sel Selection) ([]Item, error) {
	if err := sel.Shard.Check(); err != nil {
		return nil, err
	}
	if sel.Count < 0 {
		return nil, errors.New("cases cannot run less than once")
	}
	var items []Item
	add := func(i Item) {
		if (sel.Run == nil || i.Case == nil || sel.Run.MatchString(i.Name())) && sel.Shard.has(i) {
			items = append(items, i)
		}
	}
	for _, s := range suites {
		if s.Err != nil {
			add(Item{Suite: s})
			continue
		}
		for _, c := range s.Cases {
			add(Item{Suite: s, Case: c})
		}
	}
	if len(items) > 0 && sel.Count > MostItems/len(items) {
		return nil, fmt.Errorf("%d cases cannot run %d times: at most %d may run in all", len(items), sel.Count, MostItems)
	}
	all := items
	for range sel.Count - 1 {
		all = append(all, items...)
	}
	return all, nil
}
