package flags_test

import (
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/remote"
)

const digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

// TestLockUse checks that Load keeps the lock that Use has set, and does not read the lock file.
func TestLockUse(t *testing.T) {
	t.Parallel()
	const reference = "registry.example.org/fn:v1"
	ref := e2e.Must(remote.ParseReference(reference, ""))(t)
	l := flags.Lock{Locked: true, LockFile: filepath.Join(t.TempDir(), "absent.lock")}
	l.Use(&lock.Lock{Functions: []lock.Image{{Reference: reference, Digest: digest}}})
	e2e.NoError(t, l.Load())
	e2e.Equal(t, "Pin returns the digest of the lock that Use has set", digest, e2e.Must(l.Pin()(ref))(t).Identifier())
}

// TestLockAllow checks which images may be used without a digest if the lock lacks them.
func TestLockAllow(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, image, want string
	}{
		"Locked":    {"the digest of an image in the lock is used", "registry.example.org/fn:v1", "registry.example.org/fn@" + digest},
		"Tag":       {"the tag of an allowed image allows no other image", "registry.example.org/fn:v3", ""},
		"Reference": {"an allowed reference needs no digest", "registry.example.org/other:v3", "registry.example.org/other:v3"},
		"Other":     {"any other image must be in the lock", "registry.example.org/fn:v2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l flags.Lock
			l.Use(&lock.Lock{Functions: []lock.Image{{Reference: "registry.example.org/fn:v1", Digest: digest}}})
			l.Allow("registry.example.org/other:v3")
			ref := e2e.Must(remote.ParseReference(tc.image, ""))(t)
			got, err := l.Pin()(ref)
			if (err != nil) != (tc.want == "") || err == nil && got.Name() != tc.want {
				t.Errorf("%s: got %v and error %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}

// TestLockAllowLater checks that a function that Pin returned accepts references that a copy of
// the Lock allows later, as --require-verified does with a verified digest.
func TestLockAllowLater(t *testing.T) {
	t.Parallel()
	ref := e2e.Must(remote.ParseReference("registry.example.org/fn@"+digest, ""))(t)
	l := flags.Lock{Locked: true}
	l.Use(&lock.Lock{})
	e2e.NoError(t, l.Load())
	pin, verified := l.Pin(), l
	e2e.Error(t, "Pin accepts a digest that is neither locked nor allowed", e2e.Err(pin(ref)))
	verified.Allow(ref.Name())
	e2e.Equal(t, "Pin accepts a digest that was allowed after the call of Pin", ref.Name(), e2e.Must(pin(ref))(t).Name())
}
