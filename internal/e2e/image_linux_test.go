package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/dockerengine/dockerenginetest"
)

// The image of xfn over a root file system of Debian has a shell, git and xfn, which run as user
// 65532 without capabilities and with a read-only root file system.
func TestImageWithShell(t *testing.T) {
	engine := dockerenginetest.Open(t)
	root, dir := debianRoot(t, "usr/bin/git"), t.TempDir()
	if _, err := exec.LookPath("docker"); err != nil {
		t.Skip("there is no docker command")
	}
	docker := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "docker", args...)
		cmd.Env = append(os.Environ(), "DOCKER_HOST="+engine.Endpoint().Host)
		out := e2e.Output(t, cmd)
		return strings.TrimSpace(out)
	}
	file := filepath.Join(dir, "ci.tar")
	mustExec(t, e2e.Binary(t), "image", "--base-image", root, "-o", file)
	loaded := docker("load", "--quiet", "--input", file)
	id := loaded[strings.LastIndex(loaded, " ")+1:]
	defer docker("image", "rm", "--force", id)
	const script = `set -e
id -u
git --version
export HOME=/tmp
git init -q /tmp/repo
cd /tmp/repo
xfn xpkg init function-hello go-templating -d fn
git add .
git -c user.name=a -c user.email=a@example.org commit -q -m one
xfn render fn/example/xr.yaml fn/example/composition.yaml fn/example/functions.yaml --package function-hello=fn/function`
	out := docker("run", "--rm", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none",
		"--tmpfs", "/tmp:exec", "--entrypoint", "/bin/sh", id, "-c", script)
	if !strings.HasPrefix(out, "65532\ngit version ") || !strings.Contains(out, "\nkind: ") {
		t.Errorf("the container prints:\n%s", out)
	}
}
