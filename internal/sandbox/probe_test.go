//go:build linux

package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// proberVar is an environment variable. It makes this test program forbid namespaces to
// itself, and then call Probe.
const proberVar = "XFN_TEST_PROBER"

func init() {
	if os.Getenv(proberVar) != "" {
		os.Exit(probe())
	}
}

func TestProbe(t *testing.T) {
	begin(t, acting(newRoot(t), "hello")) // begin skips the test if the system does not permit sandboxes
	e2e.WantError(t, "Probe() on a system that starts sandboxes", sandbox.Probe(), "")
	cmd := exec.CommandContext(e2e.Context(t), "/proc/self/exe")
	cmd.Env = []string{proberVar + "=1"}
	ids := []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids,
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.Output()
	want := "forbidden: creating a user namespace: no space left on device (/proc/sys/user/max_user_namespaces is 0)\n"
	e2e.NoError(t, err)
	e2e.Equal(t, "Probe() where no more namespaces are allowed", want, string(out))
}

// probe forbids new user namespaces to this process, and prints the result of Probe.
func probe() int {
	const setting = "/proc/sys/user/max_user_namespaces"
	if err := os.WriteFile(setting, []byte("0"), 0); err != nil {
		fmt.Println(err)
		return 1
	}
	err := sandbox.Probe()
	if forbidden := (*sandbox.NamespaceError)(nil); errors.As(err, &forbidden) {
		fmt.Println("forbidden:", strings.TrimSpace(err.Error()))
	}
	return 0
}
