package intercept

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/progress"
)

// DefaultMaxTTL is the default of CacheOptions.MaxTTL. It is the same as in Crossplane.
const DefaultMaxTTL = 24 * time.Hour

// MaxCachedSize is the maximum size of a cached response, encoded as protobuf: 64 MiB.
const MaxCachedSize = 64 << 20

// CacheOptions configure Cache. Dir, Identity and Now are required.
type CacheOptions struct {
	// Dir is the folder in which responses are stored. Several processes may share
	// it. A user who can write to it can forge responses of any function.
	Dir string
	// Identity returns what the responses of the function called name depend on
	// besides the request: the digest or reference of its package, and its
	// environment. If it returns "", the function's responses are not cached.
	Identity func(name string) string
	// MaxTTL limits how long a response is used, including responses that are
	// already in the cache. Zero means DefaultMaxTTL.
	MaxTTL time.Duration
	// Now returns the current time.
	Now func() time.Time
	// Progress gets at most one warning, which says why the cache cannot be used.
	Progress progress.Func
}

type cache struct {
	runner  function.Runner
	options CacheOptions
	warn    sync.Once
}

// Cache returns a Runner that calls r and caches its responses. Until the TTL of a response
// ends, equal requests to the same function get the cached response. It does not cache a
// response without a positive TTL, with a fatal result, or larger than MaxCachedSize.
//
// The cache ignores the request's meta: its tag is a digest of the other fields, and its
// capabilities are the capabilities of the caller. Therefore all profiles share cached
// responses.
//
// If the folder cannot be used, the Runner reports that once and passes calls
// to r. An expired response stays in the folder until it is requested again or
// PruneCache removes it.
func Cache(r function.Runner, o CacheOptions) function.Runner {
	o.MaxTTL = cmp.Or(o.MaxTTL, DefaultMaxTTL)
	c := &cache{runner: r, options: o}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		c.report(fmt.Errorf("making folder %q: %w", o.Dir, fsx.Cause(err)))
		return r
	}
	return c
}

// RunFunction returns the cached response or, if there is none, calls the function.
func (c *cache) RunFunction(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	identity := c.options.Identity(name)
	if identity == "" {
		return c.runner.RunFunction(ctx, name, req)
	}
	k, err := keyOf(identity, req)
	if err != nil {
		c.report(err)
		return c.runner.RunFunction(ctx, name, req)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("calling function %q: %w", name, context.Cause(ctx))
	}
	if rsp := c.load(k); rsp != nil {
		// The request whose response was cached may have had another tag.
		rsp.Meta.Tag = req.GetMeta().GetTag()
		return rsp, nil
	}
	rsp, err := c.runner.RunFunction(ctx, name, req)
	if err == nil {
		c.store(k, rsp)
	}
	return rsp, err
}

func (c *cache) load(k key) *fnv1.RunFunctionResponse {
	path, now := pathOf(c.options.Dir, k), c.options.Now()
	e, err := read(path, k)
	if err != nil {
		c.report(err)
		return nil
	}
	if e.response == nil {
		return nil
	}
	switch left := e.expires.Sub(now); {
	case left <= 0:
		c.report(remove(path))
		return nil
	// The response was cached with a larger MaxTTL, or while the clock was ahead.
	case left > c.options.MaxTTL:
		return nil
	}
	return e.response
}

// store writes a response to the cache. Only the owner can read the file,
// because it may contain connection details.
func (c *cache) store(k key, rsp *fnv1.RunFunctionResponse) {
	ttl := min(lifetime(rsp), c.options.MaxTTL)
	if ttl <= 0 {
		return
	}
	b, err := encode(k, entry{response: rsp, expires: c.options.Now().Add(ttl)})
	if err == nil && int64(len(b)) <= maxFile {
		if err = fsx.WriteFile(pathOf(c.options.Dir, k), 0o600, b); err != nil {
			err = fmt.Errorf("caching a response: %w", err)
		}
	}
	c.report(err)
}

func (c *cache) report(err error) {
	if err == nil {
		return
	}
	c.warn.Do(func() {
		c.options.Progress.Warn(fmt.Sprintf("the function response cache cannot be used, so functions are called: %v", err))
	})
}

// lifetime returns the TTL of rsp, or zero if it must not be cached.
func lifetime(rsp *fnv1.RunFunctionResponse) time.Duration {
	if reconciler.IsFatal(rsp) {
		return 0
	}
	return max(rsp.GetMeta().GetTtl().AsDuration(), 0)
}
