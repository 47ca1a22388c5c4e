package intercept

import (
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

// DefaultMaxTTL is the longest that an answer is kept unless Options say
// otherwise. It is that of Crossplane's own --xfn-cache-max-ttl.
const DefaultMaxTTL = 24 * time.Hour

// MaxCachedSize is the largest answer that is kept, in bytes as protobuf: 64 MiB.
const MaxCachedSize = 64 << 20

// CacheOptions of a cache. Dir and Identity have to be set.
type CacheOptions struct {
	// Dir is the folder that holds the answers; it is made, for its owner
	// only, if it is not there. Several processes may use it at once. Who can
	// write to it can answer for any function.
	Dir string
	// Identity says what the function of a name is: its package's digest or
	// reference, and whatever else its answers depend on that is not in the
	// request, such as its environment. Calls of a function whose identity
	// is "" are passed on.
	Identity func(name string) string
	// MaxTTL is the longest that an answer is kept, and that one which was
	// kept before is used. Zero means DefaultMaxTTL.
	MaxTTL time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Progress is told, once, if the folder cannot be used.
	Progress progress.Func
}

// A cache is the function.Runner that New returns.
type cache struct {
	runner  function.Runner
	options CacheOptions
	warn    sync.Once
}

// Cache returns a Runner that answers a call as r answered the last one of the
// same function with the same request, if that answer's TTL is not over. All
// other calls go to r. An answer without a TTL above zero is not kept, nor one
// with a fatal result, nor one above MaxSize.
//
// A request's meta does not count: its tag is a digest of the rest and its
// capabilities are those of the caller, so that profiles share their answers.
//
// No fault of the folder fails a call: it is reported once, and the call goes
// to r. Answers that are over stay in the folder until they are asked for
// again, or until Prune.
func Cache(r function.Runner, o CacheOptions) function.Runner {
	if o.MaxTTL == 0 {
		o.MaxTTL = DefaultMaxTTL
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &cache{runner: r, options: o}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		c.report(fmt.Errorf("making folder %q: %w", o.Dir, fsx.Cause(err)))
		return r
	}
	return c
}

// RunFunction answers from the folder, or passes the call on.
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
		// A function copies the tag of the request that it answers, and this
		// one may have another meta than the one that was answered.
		rsp.Meta.Tag = req.GetMeta().GetTag()
		return rsp, nil
	}
	rsp, err := c.runner.RunFunction(ctx, name, req)
	if err == nil {
		c.keep(k, rsp)
	}
	return rsp, err
}

// load returns the answer that is kept under k, or nil.
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
	if e.over(now) {
		c.report(remove(path))
		return nil
	}
	// Somebody kept it under a larger limit, or with a clock that is ahead.
	if e.expires.Sub(now) > c.options.MaxTTL {
		return nil
	}
	return e.response
}

// keep writes an answer to the folder, if it may be kept at all.
func (c *cache) keep(k key, rsp *fnv1.RunFunctionResponse) {
	ttl := min(lifetime(rsp), c.options.MaxTTL)
	if ttl <= 0 {
		return
	}
	c.report(write(pathOf(c.options.Dir, k), k, entry{response: rsp, expires: c.options.Now().Add(ttl)}))
}

func (c *cache) report(err error) {
	if err == nil {
		return
	}
	c.warn.Do(func() {
		c.options.Progress.Warn(fmt.Sprintf("the function response cache cannot be used, so functions are called: %v", err))
	})
}

// lifetime returns for how long rsp stays good, or zero if it must not be kept.
func lifetime(rsp *fnv1.RunFunctionResponse) time.Duration {
	if reconciler.IsFatal(rsp) {
		return 0
	}
	return max(rsp.GetMeta().GetTtl().AsDuration(), 0)
}
