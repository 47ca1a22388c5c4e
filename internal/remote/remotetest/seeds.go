package remotetest

import (
	"fmt"
	"sync"
	"testing"
)

// Seeds calls run with each of so many seeds, at once, or with 20 in a short test.
// That returns what harm was done, by its kind, and how it ended. All of them
// together have to do harm of each of these kinds, and to fail sometimes, but not
// more often than every other time.
func Seeds(t *testing.T, runs uint64, kinds []string, run func(t *testing.T, seed uint64) (harm map[string]int, err error)) {
	t.Helper()
	seeds := runs
	if testing.Short() {
		seeds = 20
	}
	var mu sync.Mutex
	all, failed := map[string]int{}, uint64(0)
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				harm, err := run(t, seed)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed++
				}
				for kind, n := range harm {
					all[kind] += n
				}
			})
		}
	})
	t.Logf("%d of %d failed, after %v", failed, seeds, all)
	if seeds < runs {
		return
	}
	for _, kind := range kinds {
		if all[kind] == 0 {
			t.Errorf("nothing was tested of %q", kind)
		}
	}
	if failed == 0 || failed > runs/2 {
		t.Errorf("%d of %d failed, which tests too little", failed, runs)
	}
}
