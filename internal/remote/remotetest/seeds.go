package remotetest

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
)

// seedsVar is the number of seeds that Seeds tries. In CI it is 200.
const seedsVar = "XFN_SEEDS"

const (
	// defaultSeeds take seconds.
	defaultSeeds = 40
	// manySeeds are enough for each kind of harm to be done.
	manySeeds = 100
)

// Seeds calls run with each of as many seeds as XFN_SEEDS says, or 40, in
// parallel. run returns what harm was done, by its kind, and how it ended. If there
// are 100 seeds or more, all of them together have to do harm of each of these
// kinds, and to fail sometimes, but not more often than every other time.
func Seeds(t *testing.T, kinds []string, run func(t *testing.T, seed uint64) (harm map[string]int, err error)) {
	t.Helper()
	seeds := uint64(defaultSeeds)
	if n := os.Getenv(seedsVar); n != "" {
		var err error
		if seeds, err = strconv.ParseUint(n, 10, 64); err != nil {
			t.Fatalf("reading %s: %v", seedsVar, err)
		}
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
	if seeds < manySeeds {
		return
	}
	for _, kind := range kinds {
		if all[kind] == 0 {
			t.Errorf("nothing was tested of %q", kind)
		}
	}
	if failed == 0 || failed > seeds/2 {
		t.Errorf("%d of %d failed, which tests too little", failed, seeds)
	}
}
