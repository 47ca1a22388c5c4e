//go:build unix

package gobuild_test

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// assertGone waits until the process whose id is in file has ended. It never returns if
// the process was not killed. A killed process may stay as a zombie until init reaps it.
func assertGone(t *testing.T, file string) {
	t.Helper()
	data := e2e.ReadFile(t, file)
	pid := e2e.Must(strconv.Atoi(strings.TrimSpace(data)))(t)
	for runs(pid) {
		runtime.Gosched()
	}
}

func runs(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil && !os.IsNotExist(err) || err == nil && !strings.Contains(string(stat), ") Z ")
}
