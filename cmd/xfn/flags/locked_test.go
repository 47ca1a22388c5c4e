package flags_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/internal/image/lock"
)

// TestLockUse checks that Load does not replace the lock that Use sets by that of the file.
func TestLockUse(t *testing.T) {
	t.Parallel()
	const reference, digest = "registry.example.org/fn:v1", "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	l := flags.Lock{Locked: true, LockFile: filepath.Join(t.TempDir(), "absent.lock")}
	l.Use(&lock.Lock{Functions: []lock.Image{{Reference: reference, Digest: digest}}})
	if err := l.Load(); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Pin()(ref); err != nil || got.Identifier() != digest {
		t.Errorf("got %v and error %v, want the digest %s", got, err, digest)
	}
}
