package remotetest

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
)

// Seeds calls run in parallel with each of XFN_SEEDS seeds, by default 40, which take
// seconds. run returns the faults that it injected, by kind, and the error of the code under
// test. With 100 seeds or more, each of the kinds must be injected, and some runs must fail,
// but at most half of them.
func Seeds(t *testing.T, kinds []string, run func(t *testing.T, seed uint64) (faults map[string]int, err error)) {
	t.Helper()
	seeds, err := strconv.ParseUint(cmp.Or(os.Getenv("XFN_SEEDS"), "40"), 10, 64)
	if err != nil {
		t.Fatalf("reading XFN_SEEDS: %v", err)
	}
	var mu sync.Mutex
	all, failed := map[string]int{}, uint64(0)
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				faults, err := run(t, seed)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed++
				}
				for kind, n := range faults {
					all[kind] += n
				}
			})
		}
	})
	t.Logf("%d of %d failed, after %v", failed, seeds, all)
	if seeds < 100 {
		return
	}
	for _, kind := range kinds {
		if all[kind] == 0 {
			t.Errorf("no fault of kind %q was injected", kind)
		}
	}
	if failed == 0 || failed > seeds/2 {
		t.Errorf("%d of %d failed, expected some and at most half", failed, seeds)
	}
}
