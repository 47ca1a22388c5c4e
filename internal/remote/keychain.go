package remote

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// A keychain resolves credentials by another one. It reports once for each registry
// where they come from, remembers that for errors, and marks the other's errors.
type keychain struct {
	inner authn.Keychain
	tell  progress.Func

	mu sync.Mutex
	// told has the lines that were reported, and sources the source for each target.
	told    map[string]bool
	sources map[string]string
}

// The sources of credentials that have no name.
const (
	nobody  = "nobody"
	unnamed = ""
)

// maxKnown limits the memory of a keychain in a long-running process.
const maxKnown = 1000

func newKeychain(inner authn.Keychain, tell progress.Func) *keychain {
	return &keychain{inner: inner, tell: tell, told: map[string]bool{}, sources: map[string]string{}}
}

func (k *keychain) resolve(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	auth, err := authn.Resolve(ctx, k.inner, target)
	if err != nil {
		return nil, newKeychainError(target, err)
	}
	source, line := unnamed, target.RegistryStr()+": credentials"
	if c, ok := auth.(*credentials.Credential); ok {
		source, line = c.Source, line+" of "+c.Source
	}
	if auth == authn.Anonymous {
		source, line = nobody, target.RegistryStr()+": no credentials"
	}
	k.mu.Lock()
	if len(k.sources) >= maxKnown {
		clear(k.sources)
		clear(k.told)
	}
	k.sources[target.String()] = source
	told := k.told[line]
	k.told[line] = true
	k.mu.Unlock()
	if !told {
		k.tell.Step(line)
	}
	return auth, nil
}

// source returns where the credentials for target came from.
func (k *keychain) source(target authn.Resource) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sources[target.String()]
}

type keychainError struct{ error }

func newKeychainError(target authn.Resource, err error) error {
	return &keychainError{fmt.Errorf("reading the credentials for registry %q: %w", target.RegistryStr(), err)}
}

func (e *keychainError) Unwrap() error { return e.error }

// Credentials returns the credentials for the registry of ref, or the zero value if
// there are none.
func (c *Client) Credentials(ctx context.Context, ref name.Reference) (authn.AuthConfig, error) {
	auth, err := c.keychain.resolve(ctx, ref.Context())
	if err != nil {
		return authn.AuthConfig{}, err
	}
	a, err := authn.Authorization(ctx, auth)
	if err != nil {
		return authn.AuthConfig{}, newKeychainError(ref.Context(), err)
	}
	return *a, nil
}

// fixed is a keychain with the same credentials for every registry.
type fixed authn.AuthConfig

// Resolve implements authn.Keychain.
func (f fixed) Resolve(authn.Resource) (authn.Authenticator, error) {
	if auth := authn.AuthConfig(f); auth != (authn.AuthConfig{}) {
		return &credentials.Credential{Authenticator: authn.FromConfig(auth), Source: "the caller"}, nil
	}
	return authn.Anonymous, nil
}
