package dockerenginetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
)

// Environment returns the environment for the engine at XFN_TEST_DOCKER_HOST, or else at
// DOCKER_HOST. If neither is set, it skips the test. It fails the test instead if
// XFN_REQUIRE, a comma-separated list, contains "docker".
func Environment(t testing.TB) dockerengine.Environment {
	t.Helper()
	for _, name := range []string{"XFN_TEST_DOCKER_HOST", "DOCKER_HOST"} {
		if host := os.Getenv(name); host != "" {
			return dockerengine.Environment{Host: host}
		}
	}
	e2e.Missing(t, "docker", "neither XFN_TEST_DOCKER_HOST nor DOCKER_HOST names an engine")
	return dockerengine.Environment{}
}

// Open returns the engine of [Environment], locked for this test: other tests, also of
// other processes, cannot open it until the test ends. The test fails if it adds or
// removes containers, networks or volumes.
func Open(t testing.TB) *dockerengine.Engine {
	t.Helper()
	env := Environment(t)
	lockEngine(t, env.Host)
	e := Connect(t, env)
	before := objects(t, e)
	t.Cleanup(func() {
		if diff := cmp.Diff(before, objects(t, e)); diff != "" {
			t.Errorf("containers, networks or volumes changed (-before +after):\n%s", diff)
		}
	})
	return e
}

// Connect returns the engine of an environment, and closes the connection at the end of
// the test.
func Connect(t testing.TB, env dockerengine.Environment) *dockerengine.Engine {
	t.Helper()
	e := e2e.Must(dockerengine.Connect(t.Context(), env, "xfn/test"))(t)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// lockTimeout limits how long a test waits for the engine. All tests that use it take less
// time.
const lockTimeout = 20 * time.Minute

// lockEngine locks the engine at host until the test ends. It waits while other tests use the
// engine.
func lockEngine(t testing.TB, host string) {
	t.Helper()
	sum := sha256.Sum256([]byte(host))
	f := e2e.Must(os.OpenFile(filepath.Join(os.TempDir(), "xfn-test-"+hex.EncodeToString(sum[:8])+".lock"), os.O_RDWR|os.O_CREATE, 0o600))(t)
	t.Cleanup(func() { _ = f.Close() })
	for late := time.After(lockTimeout); ; {
		ok := e2e.Must(fsx.TryLock(f, fsx.ExclusiveLock))(t)
		if ok {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			t.Fatalf("other tests use the engine for more than %v", lockTimeout)
		}
	}
}

func objects(t testing.TB, e *dockerengine.Engine) []string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	containers, err1 := e.ContainerList(ctx, client.ContainerListOptions{All: true})
	networks, err2 := e.NetworkList(ctx, client.NetworkListOptions{})
	volumes, err3 := e.VolumeList(ctx, client.VolumeListOptions{})
	e2e.NoError(t, errors.Join(err1, err2, err3))
	var all []string
	for _, c := range containers.Items {
		all = append(all, fmt.Sprint("container ", c.Names, c.ID, c.State))
	}
	for _, n := range networks.Items {
		all = append(all, "network "+n.Name)
	}
	for _, v := range volumes.Items {
		all = append(all, "volume "+v.Name)
	}
	slices.Sort(all)
	return all
}
