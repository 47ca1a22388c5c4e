package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xfn-dev/xfn/internal/remote/dockerengine"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// TestDockerScripts runs the scripts of testdata/docker, which need an engine
// and leave only their own images there. If there is a registry of Docker, DISTRIBUTION is its
// address, and the condition [registry] is true.
func TestDockerScripts(t *testing.T) {
	engine := dockerenginetest.Open(t)
	withEngine := maps.Clone(commands)
	withEngine["await-containers"] = func(ts *testscript.TestScript, _ bool, args []string) { awaitContainers(ts, engine, args) }
	withEngine["forget"] = func(ts *testscript.TestScript, _ bool, args []string) {
		for _, image := range args {
			_, err := engine.ImageRemove(context.Background(), image, client.ImageRemoveOptions{Force: true})
			ts.Check(err)
		}
	}
	distribution := ""
	if remotetest.HasRegistry() {
		distribution = remotetest.Registry(t)
	}
	const dir = "../../testdata/docker"
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			err := setup(t, dir, env)
			env.Setenv("DOCKER_HOST", engine.Endpoint().Host)
			env.Setenv("DISTRIBUTION", distribution)
			return err
		},
		Condition: func(cond string) (bool, error) {
			if cond != "registry" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return distribution != "", nil
		},
		Cmds:                withEngine,
		Deadline:            time.Now().Add(scriptsLimit),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// awaitContainers is "await-containers NAME N": it waits until the engine has N
// containers that run function NAME.
func awaitContainers(ts *testscript.TestScript, engine *dockerengine.Engine, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	for ctx := limited(ts); ; {
		list, err := engine.ContainerList(ctx, client.ContainerListOptions{Filters: client.Filters{}.Add("label", "dev.xfn.function="+args[0])})
		ts.Check(err)
		if len(list.Items) == want {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("the engine has %d containers of %s, want %d", len(list.Items), args[0], want)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
