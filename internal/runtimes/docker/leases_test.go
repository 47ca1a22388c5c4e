package docker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestEmptyLease(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		age    time.Duration
		want   bool
	}{
		"New": {"a process may write the lease of a new file", 0, true},
		"Old": {"the process that created an old empty file was killed", 2 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := leases{dir: t.TempDir()}
			f, err := createLocked(filepath.Join(l.dir, rendersFolder))
			e2e.NoError(t, err)
			created := time.Now().Add(-tc.age)
			e2e.NoError(t, errors.Join(f.Close(), os.Chtimes(f.Name(), created, created)))
			err = l.endExpired(func(string, lease) (bool, error) {
				t.Error("an empty file has no lease to end")
				return false, nil
			})
			if _, statErr := os.Stat(f.Name()); err != nil || (statErr == nil) != tc.want {
				t.Errorf("%s: got %v, %v", tc.reason, err, statErr)
			}
		})
	}
}
